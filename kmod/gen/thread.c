// SPDX-License-Identifier: GPL-2.0-only
/*
 * One pinned thread that submits bios.  No clock is read and nothing is
 * allocated per I/O.
 */
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "gen/gen.h"

/* -------------------------------------------------------------------- walk */

static __always_inline bool more(struct gen_thread *t)
{
	const struct gen_run *run = t->run;

	return !READ_ONCE(run->stop) && (!run->ios || t->issued < run->ios);
}

/* xorshift64*: full period, three shifts and a product. */
static u64 next_random(struct gen_thread *t)
{
	u64 x = t->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	t->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static __always_inline sector_t next_sector(struct gen_thread *t)
{
	const struct gen_run *run = t->run;
	u64 block;

	if (run->random) {
		block = mul_u64_u64_shr(next_random(t), run->blocks, 64);
	} else {
		block = t->next++;
		if (t->next == run->blocks)
			t->next = 0;
	}
	return run->start + block * run->block_sectors;
}

/*
 * bio_endio() has let go of all that the bio held.  Its cgroup is looked up once
 * per thread, for the pattern, and copied.
 */
static __always_inline void prepare(struct gen_thread *t, struct gen_slot *s)
{
	const struct gen_run *run = t->run;

	bio_init(&s->bio, NULL, &s->vec, 1, run->opf);
	s->bio.bi_bdev = run->bdev;
	bio_clone_blkg_association(&s->bio, &t->pattern);
	s->bio.bi_vcnt = 1;
	s->bio.bi_iter.bi_size = run->block_sectors << SECTOR_SHIFT;
	s->bio.bi_iter.bi_sector = next_sector(t);
	t->issued++;
}

static __always_inline void count(struct gen_thread *t, struct gen_slot *s)
{
	if (likely(!s->bio.bi_status)) {
		t->ios++;
		return;
	}
	if (!t->errors++)
		t->error = blk_status_to_errno(s->bio.bi_status);
}

static __always_inline void breathe(void)
{
	if (unlikely(need_resched()))
		cond_resched();
}

/* Depth 1: wait for each. */
static void walk_sync(struct gen_thread *t)
{
	struct gen_slot *s = t->slots;

	while (more(t)) {
		prepare(t, s);
		submit_bio_wait(&s->bio);
		count(t, s);
		breathe();
	}
}

/*
 * Any context.  Once the node is on the list the thread may end and the run
 * go: both are freed after an RCU grace period, which we hold off.
 */
static void slot_end_io(struct bio *bio)
{
	struct gen_slot *s = container_of(bio, struct gen_slot, bio);
	struct gen_thread *t = s->thread;
	struct task_struct *task = t->task;

	rcu_read_lock();
	if (llist_add(&s->node, &t->done) && !(in_task() && current == task))
		wake_up_process(task);
	rcu_read_unlock();
}

static void submit(struct gen_thread *t, struct gen_slot *s)
{
	prepare(t, s);
	s->bio.bi_end_io = slot_end_io;
	submit_bio(&s->bio);
}

static void wait_for_done(struct gen_thread *t)
{
	set_current_state(TASK_IDLE);
	if (llist_empty(&t->done))
		schedule();
	__set_current_state(TASK_RUNNING);
}

/* Deeper: keep that many in flight. */
static void walk_deep(struct gen_thread *t)
{
	unsigned int inflight;
	struct gen_slot *s, *next;

	for (inflight = 0; inflight < t->run->depth && more(t); inflight++)
		submit(t, &t->slots[inflight]);
	while (inflight) {
		struct llist_node *done = llist_del_all(&t->done);

		if (!done) {
			wait_for_done(t);
			continue;
		}
		llist_for_each_entry_safe(s, next, done, node) {
			count(t, s);
			if (more(t))
				submit(t, s);
			else
				inflight--;
		}
		breathe();
	}
}

int gen_thread_main(void *data)
{
	struct gen_thread *t = data;
	struct gen_run *run = t->run;

	wait_event(run->gate, READ_ONCE(run->go));
	bio_init(&t->pattern, run->bdev, NULL, 0, run->opf);
	WRITE_ONCE(t->begun, ktime_get_ns());
	if (run->depth == 1)
		walk_sync(t);
	else
		walk_deep(t);
	WRITE_ONCE(t->ended, ktime_get_ns());
	bio_uninit(&t->pattern);

	if (atomic_dec_and_test(&run->running))
		complete_all(&run->ended);
	gen_run_put(run);
	module_put_and_kthread_exit(0);
}

/* ------------------------------------------------------------------- slots */

int gen_thread_init(struct gen_thread *t)
{
	struct gen_run *run = t->run;
	const unsigned int bytes = run->block_sectors << SECTOR_SHIFT;
	unsigned int i;

	t->slots = kvcalloc(run->depth, sizeof(*t->slots), GFP_KERNEL);
	if (!t->slots)
		return -ENOMEM;
	for (i = 0; i < run->depth; i++) {
		struct gen_slot *s = &t->slots[i];

		s->thread = t;
		s->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
				       __GFP_RETRY_MAYFAIL, get_order(bytes));
		if (!s->pages)
			return -ENOMEM;
		s->vec = (struct bio_vec){
			.bv_page = s->pages,
			.bv_len = bytes,
		};
	}
	return 0;
}

/* Also after a failed init: what was not made is zero. */
void gen_thread_exit(struct gen_thread *t)
{
	const unsigned int bytes = t->run->block_sectors << SECTOR_SHIFT;
	unsigned int i;

	for (i = 0; t->slots && i < t->run->depth; i++) {
		struct gen_slot *s = &t->slots[i];

		if (!s->pages)
			break;
		__free_pages(s->pages, get_order(bytes));
	}
	kvfree(t->slots);
	if (t->task)
		put_task_struct(t->task);
}
