// SPDX-License-Identifier: GPL-2.0-only
/* Life of a null or RAM disk: from a request to a gendisk, and back. */
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "ram/ram.h"

#define RAM_INDEX_MAX	((1 << MINORBITS) - 1)
/* So much is cleared at once where nobody may sleep. */
#define ZERO_IN_ATOMIC	(SZ_1M >> SECTOR_SHIFT)

static DEFINE_MUTEX(ram_lock);		/* all_rams */
static LIST_HEAD(all_rams);
static atomic_t disks = ATOMIC_INIT(0);	/* whose ->free_disk is to come */
static DEFINE_IDA(ram_indexes);		/* N of tramN */
static DEFINE_IDA(null_indexes);	/* N of tnullN */

static const struct tally_disk_ops ram_bio_disk_ops, ram_mq_disk_ops;

static struct ida *indexes(const struct tally_ram *r)
{
	return r->backing == BACKING_NULL ? &null_indexes : &ram_indexes;
}

static bool natively_counted(union tally_modes m)
{
	return m.inflight == INFLIGHT_NATIVE;
}

/* ------------------------------------------------------------------- disk */

static int ram_open(struct gendisk *disk)
{
	lockdep_assert_held(&disk->open_mutex);
	return disk_to_ram(disk)->removing ? -ENXIO : 0;
}
TALLY_OPEN_FN(ram_open)

/* What is left once no gendisk refers to it (any more). */
static void ram_free(struct tally_ram *r)
{
	ram_complete_exit(r);
	ram_store_exit(&r->store);
	ram_mq_exit(r);
	tally_disk_exit(&r->td);
	kfree(r);
}

static void ram_free_disk(struct gendisk *disk)
{
	struct tally_ram *r = disk_to_ram(disk);

	ida_free(indexes(r), r->index);
	ram_free(r);
	rcu_read_lock();	/* the wait lets us get out of here */
	if (atomic_dec_and_test(&disks))
		wake_up_var(&disks);
	rcu_read_unlock();
}

static const struct block_device_operations ram_fops = {
	.owner		= THIS_MODULE,
	.submit_bio	= tally_ram_submit,
	.open		= ram_open_op,
	.free_disk	= ram_free_disk,
};

static const struct block_device_operations ram_mq_fops = {
	.owner		= THIS_MODULE,
	.open		= ram_open_op,
	.free_disk	= ram_free_disk,
};

static struct gendisk *alloc_gendisk(struct tally_ram *r,
				     const struct tally_shape *shape, int node)
{
	struct gendisk *disk;

	if (r->queue == QUEUE_BIO) {
		disk = tally_alloc_disk(shape, node);
		if (!IS_ERR(disk))
			disk->fops = &ram_fops;
		return disk;
	}
	disk = ram_mq_alloc_disk(r, shape);
	if (!IS_ERR(disk))
		disk->fops = &ram_mq_fops;
	return disk;
}

static const struct attribute_group *ram_groups[] = {
	&tally_disk_group,
	&ram_settings_group,
	NULL
};

static unsigned int discard_granularity(const struct tally_ram *r,
					const struct tally_ram_add *req,
					u32 flags)
{
	if (flags & TALLY_RAM_NO_DISCARD)
		return 0;
	return r->kind == STORE_SPARSE ? PAGE_SIZE : req->block_size;
}

static int alloc_disk(struct tally_ram *r, struct tally_ram_add *req,
		      u32 flags, struct tally_request *rq)
{
	const struct tally_shape shape = {
		.block_size		= req->block_size,
		.discard_granularity	= discard_granularity(r, req, flags),
		.max_sectors		= req->max_sectors ?: TALLY_SECTORS_MAX,
		.io_min			= req->io_min,
		.io_opt			= req->io_opt,
		.virt_boundary		= flags & TALLY_RAM_VIRT_BOUNDARY ?
					  PAGE_SIZE - 1 : 0,
		.rotational		= flags & TALLY_RAM_ROTATIONAL,
		.zero_sectors		= r->backing == BACKING_NULL ||
					  ram_may_sleep(r) ?
					  TALLY_SECTORS_MAX : ZERO_IN_ATOMIC,
		.nowait			= true,
		/* For swap, a hint; a cap may make it untrue later. */
		.synchronous		= r->queue == QUEUE_BIO &&
					  r->completion == COMPLETE_INLINE,
	};
	struct gendisk *disk;

	r->index = ida_alloc_max(indexes(r), RAM_INDEX_MAX,
				 GFP_KERNEL);
	if (r->index < 0)
		return r->index == -ENOSPC ?
			tally_refuse(rq, -ENOSPC, "no index left below %d",
				     RAM_INDEX_MAX + 1) : r->index;
	disk = alloc_gendisk(r, &shape, req->node);
	if (IS_ERR(disk)) {
		ida_free(indexes(r), r->index);
		return PTR_ERR(disk);
	}
	snprintf(disk->disk_name, sizeof(disk->disk_name), "t%s%d",
		 ram_backing_name(r), r->index);
	set_capacity(disk, r->sectors);
	set_disk_ro(disk, flags & TALLY_RAM_READONLY);
	tally_disk_attach(&r->td, disk);
	if (r->queue == QUEUE_MQ)
		tally_iostats_set(disk->queue,
				  natively_counted(r->td.acct.modes));
	return 0;
}

/* The disk was never added: ->free_disk does not run. */
static void drop_disk(struct tally_ram *r)
{
	put_disk(r->td.disk);
	ida_free(indexes(r), r->index);
}

/**
 * tally_ram_create() - make a disk as asked
 * @req: from the ioctl or from the module's parameters; out: number and name
 * @flags: TALLY_RAM_*
 * @rq: where to say why not, or NULL
 */
int tally_ram_create(struct tally_ram_add *req, u32 flags,
		     struct tally_request *rq)
{
	struct gendisk *disk;
	struct tally_ram *r;
	int err;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	err = ram_options(req, flags, r, rq);
	if (err)
		goto free;
	err = tally_disk_init(&r->td, r->queue == QUEUE_MQ ? &ram_mq_disk_ops :
			      &ram_bio_disk_ops, req->profile, rq);
	if (err)
		goto free;
	if (r->backing == BACKING_RAM) {
		err = ram_store_init(&r->store, r->kind,
				     r->sectors << SECTOR_SHIFT, req->node);
		if (err) {
			tally_refuse(rq, err,
				"size of %llu sectors: the memory could not be had",
				req->sectors);
			goto exit;
		}
	}
	err = ram_complete_init(r);
	if (err)
		goto exit;
	err = ram_mq_init(r);
	if (err)
		goto exit;
	err = alloc_disk(r, req, flags, rq);
	if (err)
		goto exit;
	err = tally_disk_claim(&r->td, req->name, "", rq);
	if (err)
		goto drop;
	disk = r->td.disk;
	err = device_add_disk(NULL, disk, ram_groups);
	if (err)
		goto unclaim;

	atomic_inc(&disks);
	req->major = MAJOR(disk_devt(disk));
	req->minor = MINOR(disk_devt(disk));
	strscpy_pad(req->disk, disk->disk_name, sizeof(req->disk));

	mutex_lock(&ram_lock);
	list_add_tail(&r->node, &all_rams);
	mutex_unlock(&ram_lock);
	tally_disk_publish(&r->td);	/* from here on it may be removed */
	return 0;

unclaim:
	tally_disk_unclaim(&r->td);
drop:
	drop_disk(r);
exit:
	ram_free(r);
	return err;
free:
	kfree(r);
	return err;
}

/*
 * Until no I/O is in flight, for up to its delay, and none can start; false if a
 * fatal signal ends the wait, where that is asked for.
 */
static bool freeze(struct tally_ram *r, bool killable)
{
	struct request_queue *q = r->td.disk->queue;

	blk_freeze_queue_start(q);
	while (!blk_mq_freeze_queue_wait_timeout(q, HZ / 20)) {
		if (killable && fatal_signal_pending(current)) {
			tally_unfreeze_queue(q);
			return false;
		}
		ram_mq_reap(r);		/* who polls may have been stopped */
	}
	return true;
}

/* As ->removing is set, what comes from now on ends without being polled for. */
static void end_polled(struct tally_ram *r)
{
	if (!r->queues.poll)
		return;
	freeze(r, false);
	tally_unfreeze_queue(r->td.disk->queue);
}

/* Nobody finds it any more: take it away. */
static void take_away(struct tally_ram *r)
{
	mutex_lock(&ram_lock);
	list_del(&r->node);
	mutex_unlock(&ram_lock);
	tally_disk_kill(&r->td);
	end_polled(r);
	del_gendisk(r->td.disk);	/* waits for I/O, and for sysfs stores */
	ram_mq_wait_dispatch(r);
	tally_disk_unclaim(&r->td);
	put_disk(r->td.disk);		/* frees it, or the last close does */
}

/**
 * tally_ram_destroy() - remove a disk
 * @r: the disk, held by the caller (tally_disk_get)
 * @force: even while somebody has it open; their I/O fails from now on
 * @rq: where to say why not
 */
int tally_ram_destroy(struct tally_ram *r, bool force,
		      struct tally_request *rq)
{
	struct gendisk *disk = r->td.disk;
	int openers, err = 0;

	/* ->open comes with this lock held: nobody slips in. */
	if (mutex_lock_killable(&disk->open_mutex))
		return -EINTR;
	openers = disk_openers(disk);
	if (openers && !force)
		err = tally_refuse(rq, -EBUSY, "%s is open (%d times)",
				   r->td.name, openers);
	else if (!tally_disk_withdraw(&r->td))
		err = tally_refuse(rq, -ENODEV, "%s is being removed",
				   r->td.name);
	else
		WRITE_ONCE(r->removing, true);
	mutex_unlock(&disk->open_mutex);
	if (!err)
		take_away(r);
	return err;
}

/* No opens from now on; false while somebody still has it open. */
static bool shut(struct tally_ram *r)
{
	struct gendisk *disk = r->td.disk;
	bool closed;

	mutex_lock(&disk->open_mutex);
	WRITE_ONCE(r->removing, true);
	closed = !disk_openers(disk);
	mutex_unlock(&disk->open_mutex);
	return closed;
}

/*
 * At unload nobody has a disk open.  When a load fails half-way, though, udev
 * may be looking at the first disks, and its references do not keep a module
 * that is still coming: wait for it to finish.
 */
void tally_ram_destroy_all(void)
{
	struct tally_ram *r, *next;

	list_for_each_entry_safe(r, next, &all_rams, node) {
		tally_disk_withdraw(&r->td);
		while (!shut(r))
			msleep(20);
		take_away(r);
	}
	/* The last reference to a disk may be anybody's, the code is ours. */
	wait_var_event(&disks, !atomic_read(&disks));
	synchronize_rcu();
	rcu_barrier();		/* pages of sparse stores on their way out */
}

/* --------------------------------------------------------------- quiesce */

static int quiesce(struct tally_ram *r)
{
	if (!freeze(r, true))
		return -EINTR;
	/* What was counted under the references is seen, as the last is gone. */
	smp_acquire__after_ctrl_dep();
	tally_disk_quiesced(&r->td);
	return 0;
}

static int ram_quiesce(struct tally_disk *td, union tally_modes next)
{
	return quiesce(td_to_ram(td));
}

static void ram_unquiesce(struct tally_disk *td)
{
	smp_mb();	/* pairs with those where an I/O comes in */
	tally_unfreeze_queue(td->disk->queue);
}

/*
 * Of blk-mq disks the block layer itself counts if queue/iostats says so: a
 * switch to native sets it, a switch from there clears it.
 */
static int ram_mq_quiesce(struct tally_disk *td, union tally_modes next)
{
	struct tally_ram *r = td_to_ram(td);
	int err;

	r->changes_iostats = natively_counted(td->acct.modes) !=
			     natively_counted(next);
	if (r->changes_iostats)
		tally_iostats_hold(td->disk->queue, &r->iostats);
	err = quiesce(r);
	if (err && r->changes_iostats)
		tally_iostats_drop(td->disk->queue);
	return err;
}

static void ram_mq_unquiesce(struct tally_disk *td)
{
	struct tally_ram *r = td_to_ram(td);

	if (r->changes_iostats)
		tally_iostats_commit(td->disk->queue, &r->iostats,
				     natively_counted(td->acct.modes));
	ram_unquiesce(td);
}

/**
 * ram_set_ends() - how I/O ends with the settings as they are now
 * @r: the disk, locked (tally_disk_lock)
 */
int ram_set_ends(struct tally_ram *r)
{
	const enum ram_completion ends = r->cap.iops || r->cap.bandwidth ?
					 COMPLETE_TIMER : r->completion;
	int err;

	if (ends == r->ends)
		return 0;
	err = ends == COMPLETE_INLINE ? 0 : ram_records_init(r);
	if (!err)
		err = quiesce(r);
	if (err)
		return err;
	r->ends = ends;
	ram_unquiesce(&r->td);
	return 0;
}

/* Would a partition lose its end? */
static int check_partitions(struct gendisk *disk, sector_t sectors,
			    struct tally_request *rq)
{
	struct block_device *part;
	sector_t end = 0;
	unsigned long i;

	rcu_read_lock();
	xa_for_each_start(&disk->part_tbl, i, part, 1)
		end = max(end, part->bd_start_sect + bdev_nr_sectors(part));
	rcu_read_unlock();
	if (end <= sectors)
		return 0;
	return tally_refuse(rq, -EBUSY,
		"size=%llu: there is a partition that ends at %llu",
		(u64)sectors << SECTOR_SHIFT, (u64)end << SECTOR_SHIFT);
}

/**
 * ram_resize() - give a disk another size
 * @r: the disk, locked (tally_disk_lock)
 * @sectors: what is beyond them is gone, and zero should they come back
 * @rq: where to say why not
 *
 * I/O that was submitted before and lies beyond the new end fails.  Pages of
 * the disk's cache that somebody uses just now stay cached.
 */
int ram_resize(struct tally_ram *r, sector_t sectors, struct tally_request *rq)
{
	struct gendisk *disk = r->td.disk;
	const sector_t old = r->sectors;
	int err = ram_check_sectors(sectors,
				    queue_logical_block_size(disk->queue), rq);

	if (err)
		return err;
	if (r->store.flat)
		return tally_refuse(rq, -EINVAL,
			"size=%llu: a flat store stays as it was made",
			(u64)sectors << SECTOR_SHIFT);
	err = check_partitions(disk, sectors, rq);
	if (!err && sectors < old)
		err = sync_blockdev(disk->part0);
	if (!err)
		err = quiesce(r);
	if (err)
		return err;
	WRITE_ONCE(r->sectors, sectors);
	ram_unquiesce(&r->td);
	set_capacity_and_notify(disk, sectors);
	if (sectors >= old)
		return 0;
	invalidate_bdev(disk->part0);
	if (r->backing == BACKING_RAM)
		ram_store_zero(&r->store, (u64)sectors << SECTOR_SHIFT,
			       (u64)(old - sectors) << SECTOR_SHIFT, true);
	return 0;
}

static void ram_info(struct tally_disk *td, struct tally_disk_info *info)
{
	ram_describe(td_to_ram(td), info->detail, sizeof(info->detail));
}

static const struct tally_disk_ops ram_bio_disk_ops = {
	.owner		= THIS_MODULE,
	.kind		= TALLY_KIND_RAM,
	.quiesce	= ram_quiesce,
	.unquiesce	= ram_unquiesce,
	.info		= ram_info,
};

static const struct tally_disk_ops ram_mq_disk_ops = {
	.owner		= THIS_MODULE,
	.kind		= TALLY_KIND_RAM,
	.quiesce	= ram_mq_quiesce,
	.unquiesce	= ram_mq_unquiesce,
	.info		= ram_info,
	.native_inflight = ram_mq_inflight,
};
