// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blk-mq front end: what happens to a request between the block layer's
 * queues and its end.
 *
 * The data move when the request is queued; what is delayed is the end.  Nothing
 * is ever given back to the block layer to be queued again.
 */
#include <linux/blk-mq.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ram/ram.h"

/* Beside each request. */
struct ram_request {
	struct tally_io acct;
	blk_status_t status;
	bool lost;			/* until it times out */
	struct hrtimer timer;		/* until its end; completion=timer */
	struct list_head node;		/* in the done list; polled queues */
};

/* A polled queue: requests that are done, until somebody asks. */
struct ram_polled {
	spinlock_t lock;
	struct list_head done;
};

/* The tag set of one disk, or of all that share it. */
struct ram_tags {
	struct blk_mq_tag_set set;
	struct ram_queues shape;
	unsigned int users;		/* under tags_lock, as the list */
	struct list_head node;		/* in shared_tags, if it is shared */
};

static_assert(TALLY_RAM_DEPTH_MAX == BLK_MQ_MAX_DEPTH);
static_assert(sizeof(struct ram_queues) == 5 * sizeof(u32));	/* no padding */

static DEFINE_MUTEX(tags_lock);
static LIST_HEAD(shared_tags);

/* ------------------------------------------------------------------- I/O */

/*
 * REQ_NOWAIT is the bio's that came first, and of no meaning for those merged
 * into its request: here it is past, as the tag was got.
 */
static noinline blk_status_t transfer_data(struct tally_ram *r,
					   struct request *rq)
{
	const enum req_op op = req_op(rq);
	struct bio *bio;

	if (op != REQ_OP_READ && op != REQ_OP_WRITE)
		return ram_transfer_none(r, op, blk_rq_pos(rq),
					 blk_rq_sectors(rq), false);
	__rq_for_each_bio(bio, rq) {
		blk_status_t status = ram_copy_bio(r, bio, op == REQ_OP_WRITE,
						   false);

		if (unlikely(status))
			return status;
	}
	return BLK_STS_OK;
}

static __always_inline blk_status_t transfer(struct tally_ram *r,
					     struct request *rq)
{
	const unsigned int sectors = blk_rq_sectors(rq);

	/* The position of a flush means nothing. */
	if (unlikely(sectors && blk_rq_pos(rq) + sectors > r->sectors))
		return BLK_STS_IOERR;
	if (ram_moves_nothing(r, req_op(rq)))
		return BLK_STS_OK;
	return transfer_data(r, rq);
}

static __always_inline void end_counting(struct request *rq)
{
	struct tally_ram *r = rq->q->queuedata;
	struct ram_request *own = blk_mq_rq_to_pdu(rq);

	tally_end(&r->td.acct, &own->acct);
}

/* Any context. */
static __always_inline void end_request(struct request *rq, blk_status_t status)
{
	end_counting(rq);
	blk_mq_end_request(rq, status);
}

static void ram_complete(struct request *rq)
{
	struct ram_request *own = blk_mq_rq_to_pdu(rq);

	end_request(rq, own->status);
}

static enum hrtimer_restart ram_timer_fired(struct hrtimer *timer)
{
	struct ram_request *own = container_of(timer, struct ram_request,
					       timer);

	ram_complete(blk_mq_rq_from_pdu(own));
	return HRTIMER_NORESTART;
}

static void end_when_polled(struct ram_polled *p, struct ram_request *own)
{
	spin_lock(&p->lock);
	list_add_tail(&own->node, &p->done);
	spin_unlock(&p->lock);
}

static noinline void end_later(struct tally_ram *r, struct request *rq)
{
	struct ram_request *own = blk_mq_rq_to_pdu(rq);
	const u64 ns = ram_delay(r, bio_has_data(rq->bio) ? blk_rq_bytes(rq) :
							    0);

	if (ns)
		hrtimer_start(&own->timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
	else if (r->completion == COMPLETE_SOFTIRQ)
		blk_mq_complete_request(rq);
	else
		ram_complete(rq);
}

/*
 * Only the bio in front gets the cookie to poll with; one that is not polled may
 * have been merged there.
 */
static bool is_polled(struct blk_mq_hw_ctx *hctx, const struct request *rq)
{
	return hctx->type == HCTX_TYPE_POLL && rq->bio &&
	       rq->bio->bi_opf & REQ_POLLED;
}

/* How the request ends that has just been carried out. */
static __always_inline void
arrange_end(struct tally_ram *r, struct blk_mq_hw_ctx *hctx, struct request *rq,
	    blk_status_t status)
{
	struct ram_request *own = blk_mq_rq_to_pdu(rq);
	const bool polled = is_polled(hctx, rq);

	if (unlikely(blk_should_fake_timeout(rq->q))) {
		WRITE_ONCE(own->lost, true);
		return;
	}
	own->status = status;
	if (polled && !READ_ONCE(r->removing))
		end_when_polled(hctx->driver_data, own);
	else if (polled || r->ends == COMPLETE_INLINE)
		end_request(rq, status);
	else if (r->ends == COMPLETE_SOFTIRQ)
		blk_mq_complete_request(rq);
	else
		end_later(r, rq);
}

static __always_inline void queue_one(struct blk_mq_hw_ctx *hctx,
				      struct request *rq)
{
	struct tally_ram *r = hctx->queue->queuedata;
	struct ram_request *own = blk_mq_rq_to_pdu(rq);

	/* Pairs with the barrier in ram_unquiesce(), as for bios. */
	smp_rmb();
	blk_mq_start_request(rq);
	/* A flush has no bio, and the block layer always counts it. */
	tally_begin_request(&r->td.acct, &own->acct,
			    rq->rq_flags & RQF_IO_STAT ||
			    req_op(rq) == REQ_OP_FLUSH,
			    likely(rq->bio) ? rq->bio->bi_bdev
					    : r->td.acct.whole,
			    req_op(rq), blk_rq_sectors(rq));
	arrange_end(r, hctx, rq, transfer(r, rq));
}

static blk_status_t ram_queue_rq(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd)
{
	queue_one(hctx, bd->rq);
	return BLK_STS_OK;
}

static void ram_queue_rqs(tally_rq_list *list)
{
	struct request *rq;

	while ((rq = rq_list_pop(list)))
		queue_one(rq->mq_hctx, rq);
}

static int ram_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *batch)
{
	struct ram_polled *p = hctx->driver_data;
	struct ram_request *own, *next;
	LIST_HEAD(done);
	int count = 0;

	if (!p)		/* merged into a request of another queue */
		return 0;
	spin_lock(&p->lock);
	list_splice_init(&p->done, &done);
	/* From here on they do not time out. */
	list_for_each_entry(own, &done, node)
		blk_mq_set_request_complete(blk_mq_rq_from_pdu(own));
	spin_unlock(&p->lock);

	list_for_each_entry_safe(own, next, &done, node) {
		struct request *rq = blk_mq_rq_from_pdu(own);
		const blk_status_t status = own->status;

		list_del_init(&own->node);
		end_counting(rq);
		if (!blk_mq_add_to_batch(rq, batch, status != BLK_STS_OK,
					 blk_mq_end_request_batch))
			blk_mq_end_request(rq, status);
		count++;
	}
	return count;
}

/* What nobody polled for yet. */
void ram_mq_reap(struct tally_ram *r)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	if (r->queues.poll)
		queue_for_each_hw_ctx(r->td.disk->queue, hctx, i)
			ram_poll(hctx, NULL);
}

static bool in_flight(struct request *rq)
{
	return blk_mq_request_started(rq) && !blk_mq_request_completed(rq);
}

/* Take it off the done list, if it is there. */
static bool unpolled(struct ram_polled *p, struct ram_request *own)
{
	bool there;

	if (!p)
		return false;
	spin_lock(&p->lock);
	there = in_flight(blk_mq_rq_from_pdu(own)) && !list_empty(&own->node);
	if (there)
		list_del_init(&own->node);
	spin_unlock(&p->lock);
	return there;
}

/*
 * A request ends here that was lost, that nobody polled for or whose timer is
 * late, and fails even if its data have moved, as of any disk that answers too
 * late.  Others are being carried out or are at their end.  Process context.
 */
static enum blk_eh_timer_return ram_timeout(struct request *rq)
{
	struct blk_mq_hw_ctx *hctx = rq->mq_hctx;
	struct ram_request *own = blk_mq_rq_to_pdu(rq);

	if (READ_ONCE(own->lost)) {
		WRITE_ONCE(own->lost, false);
	} else if (hrtimer_is_queued(&own->timer) &&
		   hrtimer_get_remaining(&own->timer) > 0) {
		return BLK_EH_RESET_TIMER;	/* a cap makes it wait */
	} else if (!unpolled(hctx->driver_data, own) &&
		   !hrtimer_cancel(&own->timer)) {
		return in_flight(rq) ? BLK_EH_RESET_TIMER : BLK_EH_DONE;
	}
	own->status = BLK_STS_TIMEOUT;
	blk_mq_complete_request(rq);
	return BLK_EH_DONE;
}

/* -------------------------------------------------------- queues and tags */

static int ram_init_request(struct blk_mq_tag_set *set, struct request *rq,
			    unsigned int hctx, tally_node node)
{
	struct ram_request *own = blk_mq_rq_to_pdu(rq);

	tally_hrtimer_init(&own->timer, ram_timer_fired);
	INIT_LIST_HEAD(&own->node);
	return 0;
}

/* The block layer may have made fewer queues than were asked for, of one type. */
static unsigned int polled_queues(const struct ram_tags *tags)
{
	return tags->set.nr_maps > 1 ? tags->shape.poll : 0;
}

static int ram_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
			 unsigned int index)
{
	struct ram_tags *tags = data;
	struct ram_polled *p;

	hctx->driver_data = NULL;
	if (index < tags->set.nr_hw_queues - polled_queues(tags))
		return 0;
	p = kzalloc_node(sizeof(*p), GFP_KERNEL, hctx->numa_node);
	if (!p)
		return -ENOMEM;
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->done);
	hctx->driver_data = p;
	return 0;
}

static void ram_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	kfree(hctx->driver_data);
	hctx->driver_data = NULL;
}

/* CPUs onto the queues of each type; polled ones come behind the others. */
static void ram_map_queues(struct blk_mq_tag_set *set)
{
	const struct ram_tags *tags = set->driver_data;
	const unsigned int poll = polled_queues(tags);
	const unsigned int count[HCTX_MAX_TYPES] = {
		[HCTX_TYPE_DEFAULT]	= set->nr_hw_queues - poll,
		[HCTX_TYPE_POLL]	= poll,
	};
	unsigned int type, offset = 0;

	for (type = 0; type < set->nr_maps; type++) {
		set->map[type].nr_queues = count[type];
		set->map[type].queue_offset = offset;
		offset += count[type];
		if (count[type])
			blk_mq_map_queues(&set->map[type]);
	}
}

static const struct blk_mq_ops ram_mq_ops = {
	.queue_rq	= ram_queue_rq,
	.queue_rqs	= ram_queue_rqs,
	.complete	= ram_complete,
	.timeout	= ram_timeout,
	.poll		= ram_poll,
	.init_request	= ram_init_request,
	.init_hctx	= ram_init_hctx,
	.exit_hctx	= ram_exit_hctx,
	.map_queues	= ram_map_queues,
};

static struct ram_tags *tags_new(const struct ram_queues *shape)
{
	static const struct {
		u32 ours, theirs;
	} flags[] = {
		{ TALLY_RAM_MQ_TAG_BITMAP, BLK_MQ_F_TAG_HCTX_SHARED },
		{ TALLY_RAM_MQ_NO_SCHED, BLK_MQ_F_NO_SCHED_BY_DEFAULT },
		{ TALLY_RAM_MQ_BLOCKING, BLK_MQ_F_BLOCKING },
	};
	struct ram_tags *tags = kzalloc(sizeof(*tags), GFP_KERNEL);
	struct blk_mq_tag_set *set;
	unsigned int i;
	int err;

	if (!tags)
		return ERR_PTR(-ENOMEM);
	tags->shape = *shape;
	tags->users = 1;
	INIT_LIST_HEAD(&tags->node);
	set = &tags->set;
	set->ops = &ram_mq_ops;
	set->nr_hw_queues = shape->submit + shape->poll;
	set->nr_maps = shape->poll ? HCTX_MAX_TYPES : 1;
	set->queue_depth = shape->depth;
	set->numa_node = shape->node;
	set->cmd_size = sizeof(struct ram_request);
	set->timeout = RAM_TIMEOUT;
	set->driver_data = tags;
	set->flags = TALLY_MQ_F_SHOULD_MERGE;
	for (i = 0; i < ARRAY_SIZE(flags); i++)
		if (shape->flags & flags[i].ours)
			set->flags |= flags[i].theirs;
	err = blk_mq_alloc_tag_set(set);
	if (!err && set->queue_depth == shape->depth)
		return tags;
	if (!err) {		/* fewer, for want of memory */
		blk_mq_free_tag_set(set);
		err = -ENOMEM;
	}
	kfree(tags);
	return ERR_PTR(err);
}

static struct ram_tags *tags_find(const struct ram_queues *shape)
{
	struct ram_tags *tags;

	lockdep_assert_held(&tags_lock);
	list_for_each_entry(tags, &shared_tags, node)
		if (!memcmp(&tags->shape, shape, sizeof(*shape)))
			return tags;
	return NULL;
}

/* A new one, or with TALLY_RAM_MQ_SHARED_TAGS that of the disks of equal shape. */
static struct ram_tags *tags_get(const struct ram_queues *shape)
{
	struct ram_tags *tags;
	unsigned int saved;

	if (!(shape->flags & TALLY_RAM_MQ_SHARED_TAGS))
		return tags_new(shape);
	/* The last reference to a disk may go where memory is being freed. */
	saved = memalloc_noio_save();
	mutex_lock(&tags_lock);
	tags = tags_find(shape);
	if (tags) {
		tags->users++;
	} else {
		tags = tags_new(shape);
		if (!IS_ERR(tags))
			list_add(&tags->node, &shared_tags);
	}
	mutex_unlock(&tags_lock);
	memalloc_noio_restore(saved);
	return tags;
}

static void tags_put(struct ram_tags *tags)
{
	bool last;

	mutex_lock(&tags_lock);
	last = !--tags->users;
	if (last)
		list_del(&tags->node);
	mutex_unlock(&tags_lock);
	if (!last)
		return;
	blk_mq_free_tag_set(&tags->set);
	kfree(tags);
}

/* The tags of a disk behind blk-mq, before there is a queue to use them. */
int ram_mq_init(struct tally_ram *r)
{
	struct ram_tags *tags;

	if (r->queue != QUEUE_MQ)
		return 0;
	tags = tags_get(&r->queues);
	if (IS_ERR(tags))
		return PTR_ERR(tags);
	r->tags = tags;
	return 0;
}

/* No queue uses them for this disk any more. */
void ram_mq_exit(struct tally_ram *r)
{
	if (r->tags)
		tags_put(r->tags);
}

/* Who put the queue's last reference may be in the dispatch still. */
void ram_mq_wait_dispatch(struct tally_ram *r)
{
	if (r->tags)
		tally_mq_wait_dispatch(&r->tags->set);
}

struct gendisk *ram_mq_alloc_disk(struct tally_ram *r,
				  const struct tally_shape *shape)
{
	return tally_alloc_mq_disk(&r->tags->set, shape, r);
}

/* ------------------------------------------------- the kernel's accounting */

struct counting {
	struct request_queue *queue;
	unsigned int *inflight;
};

static bool count_started(struct request *rq, void *data)
{
	struct counting *c = data;

	if (rq->q == c->queue && (rq->rq_flags & RQF_IO_STAT) &&
	    in_flight(rq))
		c->inflight[op_is_write(req_op(rq))]++;
	return true;
}

/* What the block layer counts up to 6.15: tags in use that have started. */
void ram_mq_inflight(struct tally_disk *td, unsigned int inflight[2])
{
	struct tally_ram *r = td_to_ram(td);
	struct counting c = { .queue = td->disk->queue, .inflight = inflight };

	inflight[0] = inflight[1] = 0;
	blk_mq_tagset_busy_iter(&r->tags->set, count_started, &c);
}
