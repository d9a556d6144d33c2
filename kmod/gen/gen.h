/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of tally_gen.
 *
 * A run is shared by the command that waits for it and by its threads; the
 * last to let go frees it.  A command that is interrupted returns at once and
 * leaves threads behind that still have I/O in flight (on a suspended map, say):
 * they end with that I/O, and hold the device and the module until then.
 */
#ifndef TALLY_GEN_H
#define TALLY_GEN_H

#include <linux/bio.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/llist.h>

#include "core/tally.h"

struct gen_run;

/* One I/O of a thread deeper than 1. */
struct gen_slot {
	struct gen_thread *thread;
	struct llist_node node;
	struct page *pages;
	struct bio_vec vec;
	struct bio bio;
};

struct gen_thread {
	struct gen_run *run;
	struct task_struct *task;
	unsigned int cpu;

	/* the walk, in blocks */
	u64 issued;
	u64 next;
	u64 random;

	/* results; the thread's own until it has ended */
	u64 ios;
	u64 errors;
	int error;
	u64 begun;		/* ns */
	u64 ended;

	struct gen_slot *slots;	/* depth of them */
	struct bio pattern;	/* never submitted */

	/* slots whose I/O has ended; filled from any context */
	struct llist_head done ____cacheline_aligned_in_smp;
} ____cacheline_aligned_in_smp;

struct gen_run {
	struct kref ref;
	struct file *file;	/* holds the device open */
	struct block_device *bdev;

	blk_opf_t opf;
	bool random;
	unsigned int depth;
	unsigned int block_sectors;
	u64 ios;		/* per thread; 0: no limit */
	sector_t start;
	u64 blocks;		/* in the span */

	bool stop;		/* read by every thread, written once */
	bool go;
	wait_queue_head_t gate;
	atomic_t running;
	struct completion ended;

	unsigned int nr_threads;
	struct gen_thread *threads;
};

struct gen_run *gen_run_create(const struct tally_gen_run *req, u32 flags,
			       struct tally_request *rq);
int gen_run_carry_out(struct gen_run *run, struct tally_gen_run *req);
void gen_run_put(struct gen_run *run);

int gen_thread_main(void *data);
int gen_thread_init(struct gen_thread *t);
void gen_thread_exit(struct gen_thread *t);

#endif /* TALLY_GEN_H */
