// SPDX-License-Identifier: GPL-2.0-only
/* A run: checked, carried out, waited for. */
#include <linux/cpumask.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "gen/gen.h"

/* ---------------------------------------------------------------- checking */

static int check_numbers(const struct tally_gen_run *req,
			 struct tally_request *rq)
{
	if (!req->nr_threads || req->nr_threads > TALLY_GEN_THREADS_MAX)
		return tally_refuse(rq, -EINVAL, "%u threads: 1 to %d",
				    req->nr_threads, TALLY_GEN_THREADS_MAX);
	if (!req->depth || req->depth > TALLY_GEN_DEPTH_MAX)
		return tally_refuse(rq, -EINVAL, "depth %u: 1 to %d",
				    req->depth, TALLY_GEN_DEPTH_MAX);
	if (!req->block_bytes || req->block_bytes > TALLY_GEN_BLOCK_MAX)
		return tally_refuse(rq, -EINVAL, "block of %u bytes: 1 to %d",
				    req->block_bytes, TALLY_GEN_BLOCK_MAX);
	if (!req->ios && !req->duration_ns)
		return tally_refuse(rq, -EINVAL,
			"neither a number of I/Os nor a duration");
	if (req->pad || req->ended)
		return tally_refuse(rq, -EINVAL, "padding is not zero");
	return 0;
}

static int check_device(struct gen_run *run, const struct tally_gen_run *req,
			u32 flags, struct tally_request *rq)
{
	struct block_device *bdev = run->bdev;
	const unsigned int block = bdev_logical_block_size(bdev);
	const u64 sectors = bdev_nr_sectors(bdev);
	u64 span = req->span, memory, room;

	if (req->block_bytes % block)
		return tally_refuse(rq, -EINVAL,
			"block of %u bytes: not a multiple of the device's %u",
			req->block_bytes, block);
	if (req->start > sectors || span > sectors - req->start)
		return tally_refuse(rq, -EINVAL,
			"%llu sectors from %llu on: the device has %llu", span,
			req->start, sectors);
	if (req->start & ((block >> SECTOR_SHIFT) - 1))
		return tally_refuse(rq, -EINVAL,
			"start %llu: not on a block of %u bytes", req->start,
			block);
	if (!span)
		span = sectors - req->start;
	run->blocks = div_u64(span, run->block_sectors);
	if (!run->blocks)
		return tally_refuse(rq, -EINVAL,
			"%llu sectors: not one block of %u bytes", span,
			req->block_bytes);

	memory = (u64)req->nr_threads * req->depth *
		 (PAGE_SIZE << get_order(req->block_bytes));
	room = (u64)max(si_mem_available(), 0L) << (PAGE_SHIFT - 1);
	if (memory > room)
		return tally_refuse(rq, -ENOMEM,
			"buffers of %llu bytes: at most half of free memory, %llu",
			memory, room);

	if (!(flags & TALLY_GEN_WRITE))
		return 0;
	if (!(run->file->f_mode & FMODE_WRITE))
		return tally_refuse(rq, -EACCES,
			"the device is not open for writing");
	if (bdev_read_only(bdev))
		return tally_refuse(rq, -EROFS, "the device is read-only");
	if (!(flags & TALLY_GEN_FORCE) && !tally_disk_owns(bdev))
		return tally_refuse(rq, -EPERM,
			"%s is not a disk of ours: writing needs to be forced",
			bdev->bd_disk->disk_name);
	return 0;
}

/* The CPU of each thread: as given, or the CPUs on line in turn. */
static int place_threads(struct gen_run *run, const struct tally_gen_run *req,
			 struct tally_request *rq)
{
	const u32 __user *cpus = u64_to_user_ptr(req->cpus);
	unsigned int i;
	int next = -1;

	for (i = 0; i < run->nr_threads; i++) {
		u32 cpu;

		if (req->cpus) {
			if (get_user(cpu, cpus + i))
				return -EFAULT;
			if (cpu >= nr_cpu_ids || !cpu_online(cpu))
				return tally_refuse(rq, -EINVAL,
					"CPU %u: not on line (there are %u to %u)",
					cpu, cpumask_first(cpu_online_mask),
					cpumask_last(cpu_online_mask));
		} else {
			next = cpumask_next(next, cpu_online_mask);
			if (next >= nr_cpu_ids)
				next = cpumask_first(cpu_online_mask);
			cpu = next;
		}
		run->threads[i].cpu = cpu;
	}
	return 0;
}

/* splitmix64: neighbouring numbers come out far apart. */
static u64 mix(u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static void seed_threads(struct gen_run *run, u64 seed)
{
	unsigned int i;

	for (i = 0; i < run->nr_threads; i++) {
		struct gen_thread *t = &run->threads[i];

		t->next = div_u64(run->blocks * i, run->nr_threads);
		/* No two threads alike, nor of runs with close seeds. */
		t->random = mix(mix(seed) + i) ?: 1;
	}
}

/* ------------------------------------------------------------------- life */

static void run_free(struct kref *ref)
{
	struct gen_run *run = container_of(ref, struct gen_run, ref);
	unsigned int i;

	synchronize_rcu();	/* see slot_end_io() */
	for (i = 0; run->threads && i < run->nr_threads; i++)
		gen_thread_exit(&run->threads[i]);
	kvfree(run->threads);
	if (run->file)
		fput(run->file);
	kfree(run);
}

void gen_run_put(struct gen_run *run)
{
	kref_put(&run->ref, run_free);
}

static int run_init(struct gen_run *run, const struct tally_gen_run *req,
		    u32 flags, struct tally_request *rq)
{
	unsigned int i;
	int err;

	run->file = fget(req->fd);
	if (!run->file)
		return tally_refuse(rq, -EBADF, "fd %d is not open", req->fd);
	run->bdev = tally_file_bdev(run->file);
	if (!run->bdev)
		return tally_refuse(rq, -ENOTBLK,
			"fd %d is not a block device", req->fd);
	err = check_device(run, req, flags, rq);
	if (err)
		return err;

	run->threads = kvcalloc(req->nr_threads, sizeof(*run->threads),
				GFP_KERNEL);
	if (!run->threads)
		return -ENOMEM;
	run->nr_threads = req->nr_threads;
	for (i = 0; i < run->nr_threads; i++) {
		run->threads[i].run = run;
		init_llist_head(&run->threads[i].done);
	}
	err = place_threads(run, req, rq);
	for (i = 0; i < run->nr_threads && !err; i++) {
		err = gen_thread_init(&run->threads[i]);
		cond_resched();
		if (fatal_signal_pending(current))
			err = -EINTR;
	}
	if (!err)
		seed_threads(run, req->seed);
	return err;
}

/* A run that is ready to start; ERR_PTR with a reason. */
struct gen_run *gen_run_create(const struct tally_gen_run *req, u32 flags,
			       struct tally_request *rq)
{
	struct gen_run *run;
	int err;

	err = check_numbers(req, rq);
	if (err)
		return ERR_PTR(err);
	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return ERR_PTR(-ENOMEM);
	kref_init(&run->ref);
	init_waitqueue_head(&run->gate);
	init_completion(&run->ended);
	run->opf = flags & TALLY_GEN_WRITE ? REQ_OP_WRITE : REQ_OP_READ;
	run->random = flags & TALLY_GEN_RANDOM;
	run->depth = req->depth;
	run->block_sectors = req->block_bytes >> SECTOR_SHIFT;
	run->ios = req->ios;
	run->start = req->start;
	if (!run->block_sectors)
		err = tally_refuse(rq, -EINVAL,
			"block of %u bytes: at least %d", req->block_bytes,
			SECTOR_SIZE);
	else
		err = run_init(run, req, flags, rq);
	/* Not after all the I/O: a run whose results nobody can have. */
	if (!err && req->threads &&
	    clear_user(u64_to_user_ptr(req->threads),
		       req->nr_threads * sizeof(struct tally_gen_result)))
		err = -EFAULT;
	if (err) {
		gen_run_put(run);
		return ERR_PTR(err);
	}
	return run;
}

/* ---------------------------------------------------------------- running */

/* Each thread holds the run and the module. */
static int start_threads(struct gen_run *run)
{
	unsigned int i;
	int err = 0;

	atomic_set(&run->running, 1);	/* ours, until all are started */
	for (i = 0; i < run->nr_threads; i++) {
		struct gen_thread *t = &run->threads[i];
		struct task_struct *task;

		task = kthread_create_on_node(gen_thread_main, t,
					      cpu_to_node(t->cpu),
					      "tally_gen/%u", i);
		if (IS_ERR(task)) {
			err = PTR_ERR(task);
			break;
		}
		t->task = get_task_struct(task);
		kthread_bind(task, t->cpu);
		__module_get(THIS_MODULE);
		kref_get(&run->ref);
		atomic_inc(&run->running);
		wake_up_process(task);
	}
	if (err)
		WRITE_ONCE(run->stop, true);
	WRITE_ONCE(run->go, true);
	wake_up_all(&run->gate);
	if (atomic_dec_and_test(&run->running))
		complete_all(&run->ended);
	return err;
}

static unsigned long to_jiffies(u64 ns)
{
	if (!ns)
		return MAX_SCHEDULE_TIMEOUT;
	return min_t(u64, nsecs_to_jiffies64(ns) + 1, MAX_SCHEDULE_TIMEOUT);
}

/* true: a signal came.  Then threads may be left behind. */
static bool wait_for_threads(struct gen_run *run, u64 duration_ns)
{
	long left = wait_for_completion_interruptible_timeout(&run->ended,
						to_jiffies(duration_ns));

	WRITE_ONCE(run->stop, true);
	if (left >= 0)
		left = wait_for_completion_interruptible(&run->ended);
	if (left >= 0)
		return false;
	/* What can end at once does so within a moment, and is counted. */
	wait_for_completion_timeout(&run->ended, HZ / 10);
	return true;
}

/* A thread that is left behind is read as it runs. */
static void read_thread(const struct gen_run *run, const struct gen_thread *t,
			struct tally_gen_result *r)
{
	const u64 begun = READ_ONCE(t->begun);
	const u64 ended = READ_ONCE(t->ended) ?: ktime_get_ns();

	*r = (struct tally_gen_result){
		.ios	= READ_ONCE(t->ios),
		.errors	= READ_ONCE(t->errors),
		.ns	= begun ? ended - begun : 0,
		.cpu	= t->cpu,
		.error	= READ_ONCE(t->error),
	};
	r->bytes = r->ios * run->block_sectors << SECTOR_SHIFT;
}

static int copy_results(struct gen_run *run, struct tally_gen_run *req)
{
	struct tally_gen_result __user *to = u64_to_user_ptr(req->threads);
	struct tally_gen_result *total = &req->total;
	u64 first = U64_MAX, last = 0;
	unsigned int i;

	memset(total, 0, sizeof(*total));
	for (i = 0; i < run->nr_threads; i++) {
		const struct gen_thread *t = &run->threads[i];
		const u64 begun = READ_ONCE(t->begun);
		struct tally_gen_result r;

		read_thread(run, t, &r);
		total->ios += r.ios;
		total->bytes += r.bytes;
		total->errors += r.errors;
		total->error = total->error ?: r.error;
		if (begun) {
			first = min(first, begun);
			last = max(last, begun + r.ns);
		}
		if (req->threads && copy_to_user(to + i, &r, sizeof(r)))
			return -EFAULT;
	}
	total->ns = last ? last - first : 0;
	return 0;
}

/**
 * gen_run_carry_out() - run, wait, report
 * @run: from gen_run_create()
 * @req: out: total, ended; threads' results go to its address
 *
 * A signal is no error: it ends the run at once, and the report says so.
 */
int gen_run_carry_out(struct gen_run *run, struct tally_gen_run *req)
{
	int err = start_threads(run);

	if (err) {
		wait_for_completion(&run->ended);
		return err;
	}
	if (wait_for_threads(run, req->duration_ns)) {
		req->ended = TALLY_GEN_INTERRUPTED;
	} else {
		/* Nobody needs the device: it is closed when we return. */
		fput(run->file);
		run->file = NULL;
		req->ended = 0;
	}
	return copy_results(run, req);
}
