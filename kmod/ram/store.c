// SPDX-License-Identifier: GPL-2.0-only
/* The bytes of a RAM disk, flat or sparse. */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "ram/ram.h"

/*
 * Zeroed memory of one node, if it has it; fails without killing anybody.
 * vzalloc_node() would do neither.  vfree() frees the pages as well.
 */
static void *alloc_on_node(u64 bytes, int node)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL;
	const unsigned long count = DIV_ROUND_UP_ULL(bytes, PAGE_SIZE);
	unsigned long i;
	struct page **pages;
	void *flat = NULL;

	pages = kvmalloc_array(count, sizeof(*pages), gfp);
	if (!pages)
		return NULL;
	for (i = 0; i < count; i++) {
		pages[i] = alloc_pages_node(node, gfp | __GFP_ZERO, 0);
		if (!pages[i])
			break;
		cond_resched();
	}
	if (i == count)
		flat = vmap(pages, count, VM_MAP | VM_MAP_PUT_PAGES,
			    PAGE_KERNEL);
	if (flat)
		return flat;
	while (i)
		__free_page(pages[--i]);
	kvfree(pages);
	return NULL;
}

static int init_sparse(struct ram_store *s)
{
	unsigned int i;

	s->shards = kcalloc_node(RAM_SHARDS, sizeof(*s->shards), GFP_KERNEL,
				 s->node);
	if (!s->shards)
		return -ENOMEM;
	for (i = 0; i < RAM_SHARDS; i++)
		xa_init(&s->shards[i].pages);
	return 0;
}

int ram_store_init(struct ram_store *s, enum ram_store_kind kind, u64 bytes,
		   int node)
{
	s->node = node;
	if (kind == STORE_SPARSE)
		return init_sparse(s);
	if (node == NUMA_NO_NODE)
		s->flat = __vmalloc(bytes, GFP_KERNEL | __GFP_ZERO |
				    __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	else
		s->flat = alloc_on_node(bytes, node);
	return s->flat ? 0 : -ENOMEM;
}

void ram_store_exit(struct ram_store *s)
{
	struct page *page;
	unsigned long index;
	unsigned int i;

	vfree(s->flat);
	for (i = 0; s->shards && i < RAM_SHARDS; i++) {
		xa_for_each(&s->shards[i].pages, index, page) {
			__free_page(page);
			cond_resched();
		}
		xa_destroy(&s->shards[i].pages);
	}
	kfree(s->shards);
}

static struct xarray *pages_of(struct ram_store *s, pgoff_t index)
{
	return &s->shards[index / XA_CHUNK_SIZE % RAM_SHARDS].pages;
}

static void free_page_rcu(struct rcu_head *head)
{
	__free_page(container_of(head, struct page, rcu_head));
}

/*
 * Have a page at this index: one of zeroes, or with the data of @whole.  Returns
 * 1 if it is ours, 0 if somebody else's was there first, or an error.
 */
static int add_page(struct ram_store *s, pgoff_t index, const void *whole,
		    bool nowait)
{
	/* A write that finds no memory fails; nobody is killed for it. */
	const gfp_t gfp = (nowait ? GFP_NOWAIT :
				    GFP_NOIO | __GFP_RETRY_MAYFAIL) |
			  __GFP_NOWARN;
	struct page *page, *old;

	page = alloc_pages_node(s->node, gfp | __GFP_HIGHMEM |
				(whole ? 0 : __GFP_ZERO), 0);
	if (!page)
		return -ENOMEM;
	if (whole)
		memcpy_to_page(page, 0, whole, PAGE_SIZE);
	old = xa_cmpxchg(pages_of(s, index), index, NULL, page, gfp);
	if (!old)
		return 1;
	__free_page(page);
	return xa_is_err(old) ? xa_err(old) : 0;
}

/*
 * Copy within one page.  Returns -EAGAIN when a page was freed between its
 * allocation and the copy (a discard races with this write): try again.
 */
static int copy_one(struct ram_store *s, u64 pos, void *buf, unsigned int len,
		    bool write)
{
	const unsigned int offset = offset_in_page(pos);
	struct page *page;
	int err = 0;

	rcu_read_lock();
	page = xa_load(pages_of(s, pos >> PAGE_SHIFT), pos >> PAGE_SHIFT);
	if (page && write)
		memcpy_to_page(page, offset, buf, len);
	else if (page)
		memcpy_from_page(buf, page, offset, len);
	else if (write)
		err = -EAGAIN;
	else
		memset(buf, 0, len);
	rcu_read_unlock();
	return err;
}

/* The same, for a write that may find no page. */
static int write_one(struct ram_store *s, u64 pos, void *buf, unsigned int len,
		     bool nowait)
{
	const void *whole = len == PAGE_SIZE ? buf : NULL;

	while (copy_one(s, pos, buf, len, true)) {
		int ours = add_page(s, pos >> PAGE_SHIFT, whole, nowait);

		if (ours < 0)
			return ours;
		if (ours && whole)
			break;
	}
	return 0;
}

blk_status_t ram_store_copy_sparse(struct ram_store *s, u64 pos, void *buf,
				   unsigned int len, bool write, bool nowait)
{
	while (len) {
		unsigned int part = min_t(unsigned int, len,
					  PAGE_SIZE - offset_in_page(pos));

		if (!write)
			copy_one(s, pos, buf, part, false);
		else if (write_one(s, pos, buf, part, nowait))
			return nowait ? BLK_STS_AGAIN : BLK_STS_RESOURCE;
		pos += part;
		buf += part;
		len -= part;
	}
	return BLK_STS_OK;
}

static void sparse_clear(struct ram_store *s, u64 pos, unsigned int len)
{
	struct page *page;

	rcu_read_lock();
	page = xa_load(pages_of(s, pos >> PAGE_SHIFT), pos >> PAGE_SHIFT);
	if (page)
		memzero_page(page, offset_in_page(pos), len);
	rcu_read_unlock();
}

static void free_range(struct xarray *pages, pgoff_t first, pgoff_t last,
		       bool may_sleep)
{
	unsigned long index;
	struct page *page;

	xa_for_each_range(pages, index, page, first, last) {
		page = xa_erase(pages, index);
		if (page)
			call_rcu(&page->rcu_head, free_page_rcu);
		if (may_sleep)
			cond_resched();
	}
}

/* Whole pages go, parts of pages are cleared. */
static void sparse_zero(struct ram_store *s, u64 pos, u64 len, bool may_sleep)
{
	const u64 end = pos + len;
	const u64 first = round_up(pos, PAGE_SIZE);
	const u64 last = round_down(end, PAGE_SIZE);
	pgoff_t index, stop;

	if (first > last) {		/* inside one page */
		sparse_clear(s, pos, len);
		return;
	}
	if (pos < first)
		sparse_clear(s, pos, first - pos);
	if (last < end)
		sparse_clear(s, last, end - last);
	if (first == last)
		return;
	/* Leaf by leaf, until each shard was asked for all that it has. */
	index = round_down(first >> PAGE_SHIFT, XA_CHUNK_SIZE);
	stop = min_t(pgoff_t, last >> PAGE_SHIFT,
		     index + RAM_SHARDS * XA_CHUNK_SIZE);
	for (; index < stop; index += XA_CHUNK_SIZE)
		free_range(pages_of(s, index), first >> PAGE_SHIFT,
			   (last >> PAGE_SHIFT) - 1, may_sleep);
}

/* [pos, pos + len), which is inside the disk, reads as zeroes from now on. */
blk_status_t ram_store_zero(struct ram_store *s, u64 pos, u64 len,
			    bool may_sleep)
{
	if (!s->flat) {
		sparse_zero(s, pos, len, may_sleep);
		return BLK_STS_OK;
	}
	while (len) {
		const size_t part = min_t(u64, len, SZ_1M);

		memset(s->flat + pos, 0, part);
		pos += part;
		len -= part;
		if (may_sleep)
			cond_resched();
	}
	return BLK_STS_OK;
}
