// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a bio after ->submit_bio has returned: in softirq, or by a timer.
 *
 * The data move at submission; what is delayed is the end.  Between the two the
 * I/O holds a reference on the queue's usage counter, so a freeze waits for it.
 */
#include <linux/bio.h>
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/slab.h>

#include "ram/ram.h"

#define RAM_RECORDS	64	/* reserve: that many I/Os make progress */

struct ram_io {
	struct tally_io acct;
	struct tally_ram *ram;
	struct bio *bio;
	union {
		struct hrtimer timer;
		struct llist_node node;
	};
};

/* Per CPU: I/Os whose end is due, and who ends them. */
struct ram_softirq {
	struct llist_head due;
	struct tasklet_struct tasklet;
};

/* Any context.  The reference on the queue goes last: then the disk may. */
static void ram_end(struct ram_io *io)
{
	struct tally_ram *r = io->ram;
	struct request_queue *q = r->td.disk->queue;
	struct bio *bio = io->bio;

	tally_end(&r->td.acct, &io->acct);
	mempool_free(io, r->records);
	bio_endio(bio);
	percpu_ref_put(&q->q_usage_counter);
}

static enum hrtimer_restart timer_fired(struct hrtimer *timer)
{
	ram_end(container_of(timer, struct ram_io, timer));
	return HRTIMER_NORESTART;
}

static void softirq_run(struct tasklet_struct *tasklet)
{
	struct ram_softirq *s = container_of(tasklet, struct ram_softirq,
					     tasklet);
	struct llist_node *due = llist_reverse_order(llist_del_all(&s->due));
	struct ram_io *io, *next;

	llist_for_each_entry_safe(io, next, due, node)
		ram_end(io);
}

static void softirq_raise(struct tally_ram *r, struct ram_io *io)
{
	struct ram_softirq *s = get_cpu_ptr(r->softirq);

	if (llist_add(&io->node, &s->due))
		tasklet_schedule(&s->tasklet);
	put_cpu_ptr(r->softirq);
}

void ram_submit_async(struct tally_ram *r, struct bio *bio)
{
	const bool nowait = bio->bi_opf & REQ_NOWAIT;
	const unsigned int bytes = bio_has_data(bio) ? bio->bi_iter.bi_size : 0;
	struct ram_io *io;
	u64 ns;

	io = mempool_alloc(r->records,
			   nowait ? GFP_NOWAIT | __GFP_NOWARN : GFP_NOIO);
	if (unlikely(!io)) {
		bio_wouldblock_error(bio);
		return;
	}
	io->ram = r;
	io->bio = bio;
	/* The caller holds one, so this one can be had without asking. */
	percpu_ref_get(&r->td.disk->queue->q_usage_counter);
	tally_begin(&r->td.acct, &io->acct, bio->bi_bdev, bio_op(bio),
		    bio_sectors(bio));
	ram_carry_out(r, bio);

	ns = r->ends == COMPLETE_TIMER ? ram_delay(r, bytes) : 0;
	if (ns) {
		tally_hrtimer_init(&io->timer, timer_fired);
		hrtimer_start(&io->timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
	} else if (r->completion == COMPLETE_SOFTIRQ) {
		softirq_raise(r, io);
	} else {
		ram_end(io);
	}
}

/* What every bio needs that does not end where it comes in; once. */
int ram_records_init(struct tally_ram *r)
{
	if (r->queue == QUEUE_MQ || r->records)
		return 0;
	r->records = mempool_create_kmalloc_pool(RAM_RECORDS,
						 sizeof(struct ram_io));
	return r->records ? 0 : -ENOMEM;
}

int ram_complete_init(struct tally_ram *r)
{
	int cpu, err;

	r->ends = r->completion;
	if (r->queue == QUEUE_MQ || r->ends == COMPLETE_INLINE)
		return 0;
	err = ram_records_init(r);
	if (err || r->completion == COMPLETE_TIMER)
		return err;
	r->softirq = alloc_percpu(struct ram_softirq);
	if (!r->softirq)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct ram_softirq *s = per_cpu_ptr(r->softirq, cpu);

		init_llist_head(&s->due);
		tasklet_setup(&s->tasklet, softirq_run);
	}
	return 0;
}

/* No I/O is in flight; a tasklet may still be on its way out. */
void ram_complete_exit(struct tally_ram *r)
{
	int cpu;

	if (r->softirq)
		for_each_possible_cpu(cpu)
			tasklet_kill(&per_cpu_ptr(r->softirq, cpu)->tasklet);
	free_percpu(r->softirq);
	mempool_destroy(r->records);
}
