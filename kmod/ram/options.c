// SPDX-License-Identifier: GPL-2.0-only
/* What a disk is to be: from the words and numbers of a request, checked. */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "ram/ram.h"

#define DEPTH_DEFAULT	64
#define COMPLETION_NS	10000	/* default */

static const char *const backing_names[] = {
	[BACKING_RAM] = "ram", [BACKING_NULL] = "null", NULL
};
static const char *const store_names[] = {
	[STORE_FLAT] = "flat", [STORE_SPARSE] = "sparse", NULL
};
static const char *const queue_names[] = {
	[QUEUE_BIO] = "bio", [QUEUE_MQ] = "mq", NULL
};
static const char *const completion_names[] = {
	[COMPLETE_INLINE] = "inline", [COMPLETE_SOFTIRQ] = "softirq",
	[COMPLETE_TIMER] = "timer", NULL
};
static const char *const jitter_names[] = {
	[JITTER_NONE] = "none", [JITTER_UNIFORM] = "uniform",
	[JITTER_EXPONENTIAL] = "exponential", NULL
};

/* From a word of the request to an enum of the disk. */
static const struct {
	const char *what;
	const char *const *names;
	size_t from;
	size_t to;
} words[] = {
#define WORD(word, member)						\
	{ #word, word##_names, offsetof(struct tally_ram_add, word),	\
	  offsetof(struct tally_ram, member) }
	WORD(backing, backing),
	WORD(store, kind),
	WORD(queue, queue),
	WORD(completion, completion),
	WORD(jitter, jitter),
};

static int refuse_word(struct tally_request *rq, const char *what,
		       const char *const names[], const char *word)
{
	char list[64];
	int i, len = 0;

	for (i = 0; names[i]; i++)
		len += scnprintf(list + len, sizeof(list) - len, "%s%s",
				 i ? ", " : "", names[i]);
	return tally_refuse(rq, -EINVAL, "%s=%.16s: not one of %s", what, word,
			    list);
}

/* A word, or empty for the first of the names. */
static int parse_words(struct tally_ram_add *req, struct tally_ram *r,
		       struct tally_request *rq)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		const char *word = (void *)req + words[i].from;
		int *value = (void *)r + words[i].to;
		int err = tally_check_string(rq, words[i].what, word,
					     TALLY_WORD_LEN);

		if (err)
			return err;
		*value = *word ? match_string(words[i].names, -1, word) : 0;
		if (*value < 0)
			return refuse_word(rq, words[i].what, words[i].names,
					   word);
	}
	return 0;
}

static int check_words(struct tally_ram_add *req, struct tally_ram *r,
		       struct tally_request *rq)
{
	int err = tally_check_string(rq, "profile", req->profile,
				     sizeof(req->profile));

	if (!err)
		err = parse_words(req, r, rq);
	if (err)
		return err;
	if (r->backing == BACKING_NULL && *req->store)
		return tally_refuse(rq, -EINVAL,
			"store=%s: a null disk has no store", req->store);
	if (r->jitter != JITTER_NONE && r->completion != COMPLETE_TIMER)
		return tally_refuse(rq, -EINVAL,
			"jitter=%s: only with completion=timer", req->jitter);
	return 0;
}

/* ---------------------------------------------------------------- numbers */

static int check_block_size(struct tally_ram_add *req,
			    struct tally_request *rq)
{
	if (!req->block_size)
		req->block_size = SECTOR_SIZE;
	if (req->block_size < SECTOR_SIZE || req->block_size > PAGE_SIZE ||
	    !is_power_of_2(req->block_size))
		return tally_refuse(rq, -EINVAL,
			"block size %u: must be a power of two from %d to %lu",
			req->block_size, SECTOR_SIZE, PAGE_SIZE);
	return 0;
}

/**
 * ram_set_delay() - how long I/O takes
 * @r: gets both; they are as they were if they are refused
 * @completion_ns: at least 1
 * @jitter_ns: 0 without jitter
 * @rq: where to say what is wrong
 */
int ram_set_delay(struct tally_ram *r, u64 completion_ns, u64 jitter_ns,
		  struct tally_request *rq)
{
	u64 most;

	if (!completion_ns || completion_ns > TALLY_COMPLETION_NS_MAX)
		return tally_refuse(rq, -EINVAL,
			"completion_ns=%llu: from 1 to %llu", completion_ns,
			TALLY_COMPLETION_NS_MAX);
	most = TALLY_COMPLETION_NS_MAX - completion_ns;
	if (!jitter_ns != (r->jitter == JITTER_NONE))
		return tally_refuse(rq, -EINVAL,
			"jitter_ns=%llu: goes with jitter=uniform or exponential, and they with it",
			jitter_ns);
	if (r->jitter == JITTER_UNIFORM && jitter_ns > completion_ns)
		return tally_refuse(rq, -EINVAL,
			"jitter_ns=%llu: at most completion_ns, which is %llu",
			jitter_ns, completion_ns);
	if (r->jitter == JITTER_EXPONENTIAL)
		most = div_u64(most, RAM_EXPONENTIAL_MAX);
	if (jitter_ns > most)
		return tally_refuse(rq, -EINVAL,
			"jitter_ns=%llu: with completion_ns=%llu at most %llu",
			jitter_ns, completion_ns, most);
	/* I/O that begins now may see one of them and not the other. */
	WRITE_ONCE(r->completion_ns, completion_ns);
	WRITE_ONCE(r->jitter_ns, jitter_ns);
	return 0;
}

static int check_delay(struct tally_ram_add *req, struct tally_ram *r,
		       struct tally_request *rq)
{
	if (req->completion_ns && r->completion != COMPLETE_TIMER)
		return tally_refuse(rq, -EINVAL,
			"completion_ns=%llu: only with completion=timer",
			req->completion_ns);
	return ram_set_delay(r, req->completion_ns ?: COMPLETION_NS,
			     req->jitter_ns, rq);
}

static int check_node(struct tally_ram_add *req, struct tally_request *rq)
{
	if (req->node != NUMA_NO_NODE &&
	    (req->node < 0 || req->node >= nr_node_ids ||
	     !node_online(req->node)))
		return tally_refuse(rq, -EINVAL,
			"node %d: not on line (-1 is any)", req->node);
	return 0;
}

/* May a disk with blocks of this size have so many sectors? */
int ram_check_sectors(u64 sectors, unsigned int block_size,
		      struct tally_request *rq)
{
	const u64 most = (u64)LLONG_MAX >> SECTOR_SHIFT;

	if (!sectors)
		return tally_refuse(rq, -EINVAL, "the size is 0");
	if (sectors > most)
		return tally_refuse(rq, -EINVAL,
			"size of %llu sectors: at most %llu", sectors, most);
	if ((sectors << SECTOR_SHIFT) % block_size)
		return tally_refuse(rq, -EINVAL,
			"size of %llu bytes: not a multiple of the block size %u",
			sectors << SECTOR_SHIFT, block_size);
	return 0;
}

static int check_size(struct tally_ram_add *req, struct tally_ram *r,
		      struct tally_request *rq)
{
	const long spare = totalram_pages() / 16;	/* the machine lives on */
	u64 bytes, room;
	int err = ram_check_sectors(req->sectors, req->block_size, rq);

	if (err)
		return err;
	bytes = req->sectors << SECTOR_SHIFT;
	r->sectors = req->sectors;
	if (r->backing == BACKING_NULL || r->kind == STORE_SPARSE)
		return 0;
	room = (u64)max(si_mem_available() - spare, 0L) << PAGE_SHIFT;
	if (bytes > room)
		return tally_refuse(rq, -ENOMEM,
			"size of %llu bytes: only %llu bytes of memory can be spared",
			bytes, room);
	return 0;
}

/* ----------------------------------------------------------------- limits */

static int check_limits(const struct tally_ram_add *req,
			struct tally_request *rq)
{
	const unsigned int page = PAGE_SIZE >> SECTOR_SHIFT;

	if (req->max_sectors % page || req->max_sectors > TALLY_SECTORS_MAX)
		return tally_refuse(rq, -EINVAL,
			"max_sectors=%u: must be a multiple of %u, at most %u",
			req->max_sectors, page, TALLY_SECTORS_MAX);
	if (req->io_min % PAGE_SIZE)
		return tally_refuse(rq, -EINVAL,
			"io_min=%u: must be a multiple of %lu bytes",
			req->io_min, PAGE_SIZE);
	if (req->io_opt % (req->io_min ?: PAGE_SIZE))
		return tally_refuse(rq, -EINVAL,
			"io_opt=%u: must be a multiple of %lu bytes",
			req->io_opt, req->io_min ?: PAGE_SIZE);
	return 0;
}

/* ----------------------------------------------------------------- queues */

static int refuse_queue_options(struct tally_ram_add *req, u32 flags,
				struct tally_request *rq)
{
	const struct {
		const char *name;
		u32 value;
	} options[] = {
		{ "submit_queues", req->submit_queues },
		{ "poll_queues", req->poll_queues },
		{ "depth", req->depth },
		{ "max_sectors", req->max_sectors },
		{ "virt_boundary", !!(flags & TALLY_RAM_VIRT_BOUNDARY) },
		{ "shared_tags", !!(flags & TALLY_RAM_MQ_SHARED_TAGS) },
		{ "tag_bitmap", !!(flags & TALLY_RAM_MQ_TAG_BITMAP) },
		{ "no_sched", !!(flags & TALLY_RAM_MQ_NO_SCHED) },
		{ "blocking", !!(flags & TALLY_RAM_MQ_BLOCKING) },
		{ "per_node", !!(flags & TALLY_RAM_MQ_PER_NODE) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].value)
			return tally_refuse(rq, -EINVAL,
				"%s=%u: only with queue=mq", options[i].name,
				options[i].value);
	return 0;
}

static int check_counts(const struct tally_ram_add *req,
			struct tally_request *rq)
{
	const struct {
		const char *name;
		u32 value, most;
	} counts[] = {
		{ "submit_queues", req->submit_queues, nr_cpu_ids },
		{ "poll_queues", req->poll_queues, nr_cpu_ids },
		{ "depth", req->depth, TALLY_RAM_DEPTH_MAX },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i].value > counts[i].most)
			return tally_refuse(rq, -EINVAL, "%s=%u: at most %u",
					    counts[i].name, counts[i].value,
					    counts[i].most);
	return 0;
}

static int check_queues(struct tally_ram_add *req, struct tally_ram *r,
			u32 flags, struct tally_request *rq)
{
	struct ram_queues *q = &r->queues;
	int err;

	if (r->queue != QUEUE_MQ)
		return refuse_queue_options(req, flags, rq);
	err = check_counts(req, rq);
	if (err)
		return err;
	if (req->submit_queues && flags & TALLY_RAM_MQ_PER_NODE)
		return tally_refuse(rq, -EINVAL,
			"submit_queues=%u: per_node says how many",
			req->submit_queues);
	q->submit = flags & TALLY_RAM_MQ_PER_NODE ?
		    min_t(u32, num_online_nodes(), nr_cpu_ids) :
		    req->submit_queues ?: 1;
	q->poll = req->poll_queues;
	q->depth = req->depth ?: DEPTH_DEFAULT;
	q->node = req->node;
	q->flags = flags & TALLY_RAM_MQ_FLAGS & ~TALLY_RAM_MQ_PER_NODE;
	/* It allocates on first write. */
	if (r->backing == BACKING_RAM && r->kind == STORE_SPARSE)
		q->flags |= TALLY_RAM_MQ_BLOCKING;
	return 0;
}

/**
 * ram_options() - what a request asks for
 * @req: checked; a block size of 0 gets its value
 * @flags: TALLY_RAM_*
 * @r: gets all of it
 * @rq: where to say what is wrong
 */
int ram_options(struct tally_ram_add *req, u32 flags, struct tally_ram *r,
		struct tally_request *rq)
{
	int err = check_words(req, r, rq);

	if (!err)
		err = check_block_size(req, rq);
	if (!err)
		err = check_limits(req, rq);
	if (!err)
		err = check_delay(req, r, rq);
	if (!err)
		err = check_node(req, rq);
	if (!err)
		err = check_queues(req, r, flags, rq);
	if (!err)
		err = check_size(req, r, rq);
	return err;
}

void ram_describe(const struct tally_ram *r, char *text, size_t size)
{
	snprintf(text, size, "%s%s%s %s %s", backing_names[r->backing],
		 r->backing == BACKING_RAM ? " " : "",
		 r->backing == BACKING_RAM ? store_names[r->kind] : "",
		 queue_names[r->queue], completion_names[r->completion]);
}

const char *ram_backing_name(const struct tally_ram *r)
{
	return backing_names[r->backing];
}
