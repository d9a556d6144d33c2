// SPDX-License-Identifier: GPL-2.0-only
/* Life of a null or RAM disk: from a request to a gendisk, and back. */
#include <linux/delay.h>
#include <linux/idr.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include "ram/ram.h"

#define RAM_INDEX_MAX	((1 << MINORBITS) - 1)

static const char *const backing_names[] = {
	[BACKING_RAM] = "ram", [BACKING_NULL] = "null",
};
static const char *const store_names[] = {
	[STORE_FLAT] = "flat", [STORE_SPARSE] = "sparse",
};
static const char *const completion_names[] = {
	[COMPLETE_INLINE] = "inline", [COMPLETE_SOFTIRQ] = "softirq",
	[COMPLETE_TIMER] = "timer",
};

static DEFINE_MUTEX(ram_lock);		/* all_rams */
static LIST_HEAD(all_rams);
static atomic_t disks = ATOMIC_INIT(0);	/* whose ->free_disk is to come */
static DEFINE_IDA(ram_indexes);		/* N of tramN */
static DEFINE_IDA(null_indexes);	/* N of tnullN */

static struct ida *indexes(const struct tally_ram *r)
{
	return r->backing == BACKING_NULL ? &null_indexes : &ram_indexes;
}

/* --------------------------------------------------------------- requests */

/* A word, or empty for the first of the names. */
static int parse_word(struct tally_request *rq, const char *what,
		      const char *const names[], size_t count,
		      const char *word, int *value)
{
	*value = *word ? match_string(names, count, word) : 0;
	if (*value >= 0)
		return 0;
	return tally_refuse(rq, -EINVAL,
		"%s=%.16s: not one of %s, %s%s%s", what, word, names[0],
		names[1], count > 2 ? ", " : "", count > 2 ? names[2] : "");
}

static int check_words(struct tally_ram_add *req, struct tally_ram *r,
		       struct tally_request *rq)
{
	int backing, kind, completion, err;

	err = tally_check_string(rq, "profile", req->profile,
				 sizeof(req->profile));
	if (!err)
		err = tally_check_string(rq, "backing", req->backing,
					 sizeof(req->backing));
	if (!err)
		err = tally_check_string(rq, "store", req->store,
					 sizeof(req->store));
	if (!err)
		err = tally_check_string(rq, "completion", req->completion,
					 sizeof(req->completion));
	if (!err)
		err = parse_word(rq, "backing", backing_names,
				 ARRAY_SIZE(backing_names), req->backing,
				 &backing);
	if (!err)
		err = parse_word(rq, "store", store_names,
				 ARRAY_SIZE(store_names), req->store, &kind);
	if (!err)
		err = parse_word(rq, "completion", completion_names,
				 ARRAY_SIZE(completion_names),
				 req->completion, &completion);
	if (err)
		return err;
	if (backing == BACKING_NULL && *req->store)
		return tally_refuse(rq, -EINVAL,
			"store=%s: a null disk has no store", req->store);
	r->backing = backing;
	r->kind = kind;
	r->completion = completion;
	return 0;
}

static int check_size(struct tally_ram_add *req, struct tally_ram *r,
		      struct tally_request *rq)
{
	const u64 most = (u64)LLONG_MAX >> SECTOR_SHIFT;
	const u64 bytes = req->sectors << SECTOR_SHIFT;
	const long spare = totalram_pages() / 16;	/* the machine lives on */
	u64 room;

	if (!req->sectors)
		return tally_refuse(rq, -EINVAL, "the size is 0");
	if (req->sectors > most)
		return tally_refuse(rq, -EINVAL,
			"size of %llu sectors: at most %llu", req->sectors,
			most);
	if (bytes % req->block_size)
		return tally_refuse(rq, -EINVAL,
			"size of %llu bytes: not a multiple of the block size %u",
			bytes, req->block_size);
	if (r->backing == BACKING_NULL || r->kind == STORE_SPARSE)
		return 0;
	room = (u64)max(si_mem_available() - spare, 0L) << PAGE_SHIFT;
	if (bytes > room)
		return tally_refuse(rq, -ENOMEM,
			"size of %llu bytes: only %llu bytes of memory can be spared",
			bytes, room);
	return 0;
}

static int check_numbers(struct tally_ram_add *req, struct tally_ram *r,
			 struct tally_request *rq)
{
	if (!req->block_size)
		req->block_size = SECTOR_SIZE;
	if (req->block_size < SECTOR_SIZE || req->block_size > PAGE_SIZE ||
	    !is_power_of_2(req->block_size))
		return tally_refuse(rq, -EINVAL,
			"block size %u: must be a power of two from %d to %lu",
			req->block_size, SECTOR_SIZE, PAGE_SIZE);
	if (req->completion_ns && r->completion != COMPLETE_TIMER)
		return tally_refuse(rq, -EINVAL,
			"completion_ns=%llu: only with completion=timer",
			req->completion_ns);
	if (req->completion_ns > TALLY_COMPLETION_NS_MAX)
		return tally_refuse(rq, -EINVAL,
			"completion_ns=%llu: at most %llu", req->completion_ns,
			TALLY_COMPLETION_NS_MAX);
	r->completion_ns = req->completion_ns ?: 10000;
	if (req->node != NUMA_NO_NODE &&
	    (req->node < 0 || req->node >= nr_node_ids ||
	     !node_online(req->node)))
		return tally_refuse(rq, -EINVAL,
			"node %d: not on line (-1 is any)", req->node);
	r->sectors = req->sectors;
	return check_size(req, r, rq);
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

static int alloc_disk(struct tally_ram *r, struct tally_ram_add *req,
		      bool read_only, struct tally_request *rq)
{
	const struct tally_shape shape = {
		.block_size		= req->block_size,
		.discard_granularity	= r->kind == STORE_SPARSE ?
					  PAGE_SIZE : req->block_size,
		.write_zeroes		= true,
		.nowait			= true,
		.synchronous		= r->completion == COMPLETE_INLINE,
	};
	struct gendisk *disk;

	r->index = ida_alloc_max(indexes(r), RAM_INDEX_MAX,
				 GFP_KERNEL);
	if (r->index < 0)
		return r->index == -ENOSPC ?
			tally_refuse(rq, -ENOSPC, "no index left below %d",
				     RAM_INDEX_MAX + 1) : r->index;
	disk = tally_alloc_disk(&shape, req->node);
	if (IS_ERR(disk)) {
		ida_free(indexes(r), r->index);
		return PTR_ERR(disk);
	}
	disk->fops = &ram_fops;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "t%s%d",
		 backing_names[r->backing], r->index);
	set_capacity(disk, r->sectors);
	set_disk_ro(disk, read_only);
	tally_disk_attach(&r->td, disk);
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
 * @read_only: refuse writes
 * @rq: where to say why not, or NULL
 */
int tally_ram_create(struct tally_ram_add *req, bool read_only,
		     struct tally_request *rq)
{
	struct gendisk *disk;
	struct tally_ram *r;
	int err;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return -ENOMEM;
	err = check_words(req, r, rq);
	if (!err)
		err = check_numbers(req, r, rq);
	if (err)
		goto free;
	err = tally_disk_init(&r->td, &tally_ram_disk_ops, req->profile, rq);
	if (err)
		goto free;
	xa_init(&r->store.pages);
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
	err = ram_complete_init(r, req->node);
	if (err)
		goto exit;
	err = alloc_disk(r, req, read_only, rq);
	if (err)
		goto exit;
	err = tally_disk_claim(&r->td, req->name, "", rq);
	if (err)
		goto drop;
	disk = r->td.disk;
	err = device_add_disk(NULL, disk, tally_disk_groups);
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

/* Nobody finds it any more: take it away. */
static void take_away(struct tally_ram *r)
{
	mutex_lock(&ram_lock);
	list_del(&r->node);
	mutex_unlock(&ram_lock);
	tally_disk_kill(&r->td);
	del_gendisk(r->td.disk);	/* waits for I/O, and for sysfs stores */
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
		r->removing = true;
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
	r->removing = true;
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

/*
 * The freeze waits for I/O in flight, for up to completion_ns; a fatal signal
 * ends the wait.
 */
static int ram_quiesce(struct tally_disk *td)
{
	struct request_queue *q = td->disk->queue;

	blk_freeze_queue_start(q);
	while (!blk_mq_freeze_queue_wait_timeout(q, HZ / 20)) {
		if (fatal_signal_pending(current)) {
			tally_unfreeze_queue(q);
			return -EINTR;
		}
	}
	/* What was counted under the references is seen, as the last is gone. */
	smp_acquire__after_ctrl_dep();
	tally_disk_quiesced(td);
	return 0;
}

static void ram_unquiesce(struct tally_disk *td)
{
	smp_mb();	/* pairs with the one in tally_ram_submit() */
	tally_unfreeze_queue(td->disk->queue);
}

static void ram_info(struct tally_disk *td, struct tally_disk_info *info)
{
	struct tally_ram *r = container_of(td, struct tally_ram, td);

	if (r->backing == BACKING_NULL)
		snprintf(info->detail, sizeof(info->detail), "null %s",
			 completion_names[r->completion]);
	else
		snprintf(info->detail, sizeof(info->detail), "ram %s %s",
			 store_names[r->kind],
			 completion_names[r->completion]);
}

const struct tally_disk_ops tally_ram_disk_ops = {
	.owner		= THIS_MODULE,
	.kind		= TALLY_KIND_RAM,
	.quiesce	= ram_quiesce,
	.unquiesce	= ram_unquiesce,
	.info		= ram_info,
};
