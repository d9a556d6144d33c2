/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows that kernels differ.  The code is written for the
 * newest kernel; what is here maps older ones to it.  features.h is generated:
 * one TALLY_HAVE_* per file in probe/ that this kernel's headers compile.
 */
#ifndef TALLY_COMPAT_H
#define TALLY_COMPAT_H

#include <linux/blkdev.h>
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/part_stat.h>
#include <linux/workqueue.h>

#include "features.h"

/* Data are copied through the direct map. */
#ifdef CONFIG_HIGHMEM
#error "blktally needs a kernel without highmem, that is a 64-bit one"
#endif

/* ------------------------------------------------- ->open and ->release */

/*
 * TALLY_OPEN_FN(fn) defines fn##_op, to go into block_device_operations, from
 * int fn(struct gendisk *).
 */
#ifdef TALLY_HAVE_OPEN_GENDISK
#define TALLY_OPEN_FN(fn)						\
static int fn##_op(struct gendisk *disk, blk_mode_t mode)		\
{									\
	return fn(disk);						\
}
#else
#define TALLY_OPEN_FN(fn)						\
static int fn##_op(struct block_device *bdev, fmode_t mode)		\
{									\
	return fn(bdev->bd_disk);					\
}
typedef fmode_t blk_mode_t;
#define BLK_OPEN_READ	FMODE_READ
#define BLK_OPEN_WRITE	FMODE_WRITE
#endif

/* ------------------------------------- opening a block device exclusively */

#ifdef TALLY_HAVE_BDEV_FILE
struct tally_bdev_handle {
	struct file *file;
};

static inline struct block_device *
tally_bdev_open(struct tally_bdev_handle *handle, dev_t dev, blk_mode_t mode,
		void *holder)
{
	struct file *file = bdev_file_open_by_dev(dev, mode, holder, NULL);

	if (IS_ERR(file))
		return ERR_CAST(file);
	handle->file = file;
	return file_bdev(file);
}

static inline void tally_bdev_close(struct tally_bdev_handle *handle)
{
#ifdef TALLY_HAVE_BDEV_FPUT
	bdev_fput(handle->file);
#else
	fput(handle->file);
#endif
}
#else
struct tally_bdev_handle {
	struct block_device *bdev;
	fmode_t mode;
};

static inline struct block_device *
tally_bdev_open(struct tally_bdev_handle *handle, dev_t dev, fmode_t mode,
		void *holder)
{
	struct block_device *bdev;

	mode |= FMODE_EXCL;
	bdev = blkdev_get_by_dev(dev, mode, holder);
	if (!IS_ERR(bdev)) {
		handle->bdev = bdev;
		handle->mode = mode;
	}
	return bdev;
}

static inline void tally_bdev_close(struct tally_bdev_handle *handle)
{
	blkdev_put(handle->bdev, handle->mode);
}
#endif

/* The block device behind an open file, or NULL. */
static inline struct block_device *tally_file_bdev(struct file *file)
{
	struct inode *inode = file->f_mapping->host;

	return S_ISBLK(inode->i_mode) ? I_BDEV(inode) : NULL;
}

/* --------------------------------------------------------- disks, limits */

/* What our disks ask of the block layer, in the words of the newest kernel. */
struct tally_shape {
	unsigned int block_size;	/* logical, bytes */
	unsigned int discard_granularity;/* bytes; 0: no discard */
	unsigned int zero_sectors;	/* most of one discard or write-zeroes */
	unsigned int max_sectors;	/* of other I/O */
	unsigned int io_min;		/* hints, bytes; 0: none */
	unsigned int io_opt;
	unsigned long virt_boundary;	/* mask; 0: none */
	bool rotational;
	bool nowait;
	bool synchronous;		/* completes before submit_bio returns */
};

/* The most sectors of one bio, in whole pages: no block size is cut. */
#define TALLY_SECTORS_MAX	((UINT_MAX >> SECTOR_SHIFT) & \
				 ~((unsigned int)(PAGE_SIZE >> SECTOR_SHIFT) - 1))

/*
 * What the lowers of a map come to, beside their limits.  Since 6.11 these are
 * part of the limits, and stacked with them; before they were queue flags.
 */
struct tally_lowers {
	bool nowait;		/* every one can */
	bool write_cache;	/* some one has it */
	bool fua;		/* every one with a cache can */
	bool stable_writes;	/* some one needs them */
	bool rotational;	/* some one is */
};

#ifdef TALLY_HAVE_LIMITS_FEATURES
static inline struct queue_limits
tally_limits_of(const struct tally_shape *shape)
{
	return (struct queue_limits){
		.features = BLK_FEAT_IO_STAT |
			(shape->nowait ? BLK_FEAT_NOWAIT : 0) |
			(shape->rotational ? BLK_FEAT_ROTATIONAL : 0) |
			(shape->synchronous ? BLK_FEAT_SYNCHRONOUS : 0),
		.logical_block_size = shape->block_size,
		.physical_block_size = PAGE_SIZE,
		.max_hw_sectors = shape->max_sectors,
		.io_min = shape->io_min,
		.io_opt = shape->io_opt,
		.virt_boundary_mask = shape->virt_boundary,
		.max_hw_discard_sectors = shape->discard_granularity ?
			shape->zero_sectors : 0,
		.discard_granularity = shape->discard_granularity,
		.max_write_zeroes_sectors = shape->zero_sectors,
	};
}

/* Macros: each use is a lock class of its own. */
#define tally_alloc_disk(shape, node) ({				\
	struct queue_limits __lim = tally_limits_of(shape);		\
									\
	blk_alloc_disk(&__lim, node);					\
})

#define tally_alloc_mq_disk(set, shape, data) ({			\
	struct queue_limits __lim = tally_limits_of(shape);		\
									\
	blk_mq_alloc_disk(set, &__lim, data);				\
})

/*
 * queue/iostats from the driver.  hold: before the queue is frozen, as the
 * block layer takes the two; then either commit or drop.
 */
struct tally_iostats {
	struct queue_limits limits;
};

static inline void tally_iostats_hold(struct request_queue *q,
				      struct tally_iostats *held)
	__acquires(&q->limits_lock)
{
	held->limits = queue_limits_start_update(q);
}

static inline void tally_iostats_drop(struct request_queue *q)
	__releases(&q->limits_lock)
{
	queue_limits_cancel_update(q);
}

static inline void tally_iostats_commit(struct request_queue *q,
					struct tally_iostats *held, bool on)
	__releases(&q->limits_lock)
{
	if (on)
		held->limits.features |= BLK_FEAT_IO_STAT;
	else
		held->limits.features &= ~BLK_FEAT_IO_STAT;
	/* They were valid, and this is no limit. */
	WARN_ON_ONCE(queue_limits_commit_update(q, &held->limits));
}

/* Limits of a stack, before any lower disk is added. */
static inline void tally_stack_init(struct queue_limits *lim)
{
	blk_set_stacking_limits(lim);
	lim->features |= BLK_FEAT_NOWAIT;	/* lost with the first without */
}

static inline void tally_stack_no_discard(struct queue_limits *lim)
{
	lim->max_hw_discard_sectors = 0;
	lim->max_discard_sectors = 0;
	lim->discard_granularity = 0;
}

/* What stacking leaves over: claim nothing that is not so. */
static inline void tally_stack_claim(struct queue_limits *lim, bool fua)
{
	lim->max_secure_erase_sectors = 0;
	if (!fua)
		lim->features &= ~BLK_FEAT_FUA;
}

/*
 * Give the disk new limits.  All I/O is drained.  The user's queue/iostats
 * stays as it is.
 */
static inline int tally_stack_apply(struct gendisk *disk,
				    struct queue_limits *lim,
				    const struct tally_lowers *lowers)
{
	struct queue_limits now = queue_limits_start_update(disk->queue);
	struct queue_limits new = *lim;

	new.features |= now.features & BLK_FEAT_IO_STAT;
	return queue_limits_commit_update(disk->queue, &new);
}
#else
#define tally_alloc_disk(shape, node) ({				\
	struct gendisk *__disk = blk_alloc_disk(node);			\
									\
	__disk ? (tally_shape_disk(__disk, shape), __disk)		\
	       : ERR_PTR(-ENOMEM);					\
})

#define tally_alloc_mq_disk(set, shape, data) ({			\
	struct gendisk *__disk = blk_mq_alloc_disk(set, data);		\
									\
	if (!IS_ERR(__disk))						\
		tally_shape_disk(__disk, shape);			\
	__disk;								\
})

static inline void tally_shape_disk(struct gendisk *disk,
				    const struct tally_shape *shape)
{
	struct request_queue *q = disk->queue;

	blk_queue_flag_set(QUEUE_FLAG_IO_STAT, q);
	if (!shape->rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	if (shape->nowait)
		blk_queue_flag_set(QUEUE_FLAG_NOWAIT, q);
	blk_queue_logical_block_size(q, shape->block_size);
	blk_queue_physical_block_size(q, PAGE_SIZE);
	blk_queue_max_hw_sectors(q, shape->max_sectors);
	if (shape->io_min)
		blk_queue_io_min(q, shape->io_min);
	if (shape->io_opt)
		blk_queue_io_opt(q, shape->io_opt);
	if (shape->virt_boundary)
		blk_queue_virt_boundary(q, shape->virt_boundary);
	if (shape->discard_granularity) {
		q->limits.discard_granularity = shape->discard_granularity;
		blk_queue_max_discard_sectors(q, shape->zero_sectors);
	}
	blk_queue_max_write_zeroes_sectors(q, shape->zero_sectors);
}

static inline void tally_stack_init(struct queue_limits *lim)
{
	blk_set_stacking_limits(lim);
}

static inline void tally_stack_no_discard(struct queue_limits *lim)
{
	lim->max_discard_sectors = 0;
	lim->max_hw_discard_sectors = 0;
	lim->discard_granularity = 0;
}

/* What stacking leaves over: claim nothing that is not so. */
static inline void tally_stack_claim(struct queue_limits *lim, bool fua)
{
	lim->max_secure_erase_sectors = 0;
}

static inline void tally_queue_flag(struct request_queue *q, unsigned int flag,
				    bool on)
{
	if (on)
		blk_queue_flag_set(flag, q);
	else
		blk_queue_flag_clear(flag, q);
}

static inline int tally_stack_apply(struct gendisk *disk,
				    struct queue_limits *lim,
				    const struct tally_lowers *lowers)
{
	struct request_queue *q = disk->queue;

	q->limits = *lim;
	tally_queue_flag(q, QUEUE_FLAG_NOWAIT, lowers->nowait);
	tally_queue_flag(q, QUEUE_FLAG_STABLE_WRITES, lowers->stable_writes);
	tally_queue_flag(q, QUEUE_FLAG_NONROT, !lowers->rotational);
	blk_queue_write_cache(q, lowers->write_cache, lowers->fua);
	disk_update_readahead(disk);
	return 0;
}

/* A flag of the queue, under nobody's lock. */
struct tally_iostats { };

static inline void tally_iostats_hold(struct request_queue *q,
				      struct tally_iostats *held)
{
}

static inline void tally_iostats_drop(struct request_queue *q)
{
}

static inline void tally_iostats_commit(struct request_queue *q,
					struct tally_iostats *held, bool on)
{
	tally_queue_flag(q, QUEUE_FLAG_IO_STAT, on);
}
#endif

static inline void tally_iostats_set(struct request_queue *q, bool on)
{
	struct tally_iostats held;

	tally_iostats_hold(q, &held);
	tally_iostats_commit(q, &held, on);
}

/* ----------------------------------------------------------------- blk-mq */

#ifdef TALLY_HAVE_RQ_LIST
typedef struct rq_list tally_rq_list;
#else
typedef struct request *tally_rq_list;
#endif

#ifdef TALLY_HAVE_INIT_REQUEST_INT
typedef int tally_node;
#else
typedef unsigned int tally_node;
#endif

/* Since 6.14 every queue merges. */
#ifdef TALLY_HAVE_SHOULD_MERGE
#define TALLY_MQ_F_SHOULD_MERGE	BLK_MQ_F_SHOULD_MERGE
#else
#define TALLY_MQ_F_SHOULD_MERGE	0
#endif

/*
 * Until nobody dispatches from a queue of this set.  Up to 6.1 del_gendisk()
 * waits for that itself.
 */
static inline void tally_mq_wait_dispatch(struct blk_mq_tag_set *set)
{
#ifdef TALLY_HAVE_WAIT_QUIESCE_SET
	blk_mq_wait_quiesce_done(set);
#endif
}

#ifndef TALLY_HAVE_BDEV_ROT
static inline bool bdev_rot(struct block_device *bdev)
{
	return !bdev_nonrot(bdev);
}
#endif

/* Undo blk_freeze_queue_start(), which saves no allocation flags. */
static inline void tally_unfreeze_queue(struct request_queue *q)
{
#ifdef TALLY_HAVE_UNFREEZE_NOMEMRESTORE
	blk_mq_unfreeze_queue_nomemrestore(q);
#else
	blk_mq_unfreeze_queue(q);
#endif
}

/* ----------------------------------------------------------- workqueues */

/* Per CPU is what a workqueue was, unless it said otherwise. */
#ifdef TALLY_HAVE_WQ_PERCPU
#define TALLY_WQ_PERCPU	WQ_PERCPU
#else
#define TALLY_WQ_PERCPU	0
#endif

#ifndef TALLY_HAVE_SYSTEM_DFL_WQ
#define system_dfl_wq	system_unbound_wq
#endif

/* ------------------------------------------- the kernel's own accounting */

static inline unsigned long tally_native_begin(struct block_device *bdev,
					       enum req_op op,
					       unsigned int sectors)
{
#ifdef TALLY_HAVE_END_IO_ACCT_SECTORS
	return bdev_start_io_acct(bdev, op, jiffies);
#else
	return bdev_start_io_acct(bdev, sectors, op, jiffies);
#endif
}

static inline void tally_native_end(struct block_device *bdev, enum req_op op,
				    unsigned int sectors, unsigned long start)
{
#ifdef TALLY_HAVE_END_IO_ACCT_SECTORS
	bdev_end_io_acct(bdev, op, sectors, start);
#else
	bdev_end_io_acct(bdev, op, start);
#endif
}

/*
 * Before bdev_count_inflight(), bdev_start_io_acct() counted an I/O to a
 * partition on the partition alone; now on the whole disk as well.
 */
#ifdef TALLY_HAVE_BDEV_COUNT_INFLIGHT
#define TALLY_NATIVE_ON_WHOLE	true
#else
#define TALLY_NATIVE_ON_WHOLE	false
#endif

/* The disk itself is the first of them.  Under rcu_read_lock(). */
#define tally_for_each_part(whole, nr, part)				\
	xa_for_each(&(whole)->bd_disk->part_tbl, nr, part)

/*
 * The bioset's per-CPU cache takes bios back in interrupts since 6.2
 * (b99182c501c3), which shows in no header: seen by what came with 6.3.
 * Before, bio_put() of such a bio warns there, so none is made.
 */
#ifdef TALLY_HAVE_END_IO_ACCT_SECTORS
#define TALLY_BIOSET_CACHE	BIOSET_PERCPU_CACHE
#else
#define TALLY_BIOSET_CACHE	0
#endif

/* ---------------------------------------------------------------- timers */

static inline void
tally_hrtimer_init(struct hrtimer *timer,
		   enum hrtimer_restart (*fire)(struct hrtimer *))
{
#ifdef TALLY_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = fire;
#endif
}

#endif /* TALLY_COMPAT_H */
