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

int ram_store_init(struct ram_store *s, enum ram_store_kind kind, u64 bytes,
		   int node)
{
	xa_init(&s->pages);
	s->node = node;
	if (kind == STORE_SPARSE)
		return 0;
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

	vfree(s->flat);
	xa_for_each(&s->pages, index, page) {
		__free_page(page);
		cond_resched();
	}
	xa_destroy(&s->pages);
}

static void free_page_rcu(struct rcu_head *head)
{
	__free_page(container_of(head, struct page, rcu_head));
}

/* The page at this index, which is there from now on; ERR_PTR. */
static struct page *new_page(struct ram_store *s, pgoff_t index, bool nowait)
{
	/* A write that finds no memory fails; nobody is killed for it. */
	const gfp_t gfp = (nowait ? GFP_NOWAIT :
				    GFP_NOIO | __GFP_RETRY_MAYFAIL) |
			  __GFP_NOWARN;
	struct page *page, *old;

	page = alloc_pages_node(s->node, gfp | __GFP_ZERO | __GFP_HIGHMEM, 0);
	if (!page)
		return ERR_PTR(-ENOMEM);
	old = xa_cmpxchg(&s->pages, index, NULL, page, gfp);
	if (!old)
		return page;
	__free_page(page);
	return xa_is_err(old) ? ERR_PTR(xa_err(old)) : old;
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
	page = xa_load(&s->pages, pos >> PAGE_SHIFT);
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

blk_status_t ram_store_copy_sparse(struct ram_store *s, u64 pos, void *buf,
				   unsigned int len, bool write, bool nowait)
{
	while (len) {
		unsigned int part = min_t(unsigned int, len,
					  PAGE_SIZE - offset_in_page(pos));

		while (copy_one(s, pos, buf, part, write)) {
			struct page *page = new_page(s, pos >> PAGE_SHIFT,
						     nowait);

			if (IS_ERR(page))
				return nowait ? BLK_STS_AGAIN
					      : BLK_STS_RESOURCE;
		}
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
	page = xa_load(&s->pages, pos >> PAGE_SHIFT);
	if (page)
		memzero_page(page, offset_in_page(pos), len);
	rcu_read_unlock();
}

/* Whole pages go, parts of pages are cleared. */
static void sparse_zero(struct ram_store *s, u64 pos, u64 len)
{
	const u64 end = pos + len;
	const u64 first = round_up(pos, PAGE_SIZE);
	const u64 last = round_down(end, PAGE_SIZE);
	unsigned long index;
	struct page *page;

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
	xa_for_each_range(&s->pages, index, page, first >> PAGE_SHIFT,
			  (last >> PAGE_SHIFT) - 1) {
		page = xa_erase(&s->pages, index);
		if (page)
			call_rcu(&page->rcu_head, free_page_rcu);
		cond_resched();
	}
}

/* [pos, pos + len), which is inside the disk, reads as zeroes from now on. */
blk_status_t ram_store_zero(struct ram_store *s, u64 pos, u64 len)
{
	if (!s->flat) {
		sparse_zero(s, pos, len);
		return BLK_STS_OK;
	}
	while (len) {
		const size_t part = min_t(u64, len, SZ_1M);

		memset(s->flat + pos, 0, part);
		pos += part;
		len -= part;
		cond_resched();
	}
	return BLK_STS_OK;
}
