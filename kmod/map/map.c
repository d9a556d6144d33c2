// SPDX-License-Identifier: GPL-2.0-only
/* Life of a mapped device: create, load, suspend, resume, remove. */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "map/drain.h"
#include "map/map.h"

#define MAP_INDEX_MAX	((1 << MINORBITS) - 1)

DEFINE_MUTEX(tally_topology);
static LIST_HEAD(all_maps);		/* under tally_topology */
static atomic_t disks = ATOMIC_INIT(0);	/* whose ->free_disk is to come */
static DEFINE_IDA(indexes);

/* ------------------------------------------------------------------ drain */

static void drain_released(struct percpu_ref *ref)
{
	wake_up_all(&container_of(ref, struct tally_map, drain)->drained);
}

/*
 * Open the gate and let go what waited at it; see map_defer().  The caller
 * submits it, once it holds no lock.
 */
static void undrain(struct tally_map *m)
{
	lockdep_assert_held(&m->lock);
	drain_open(&m->drain);

	spin_lock_irq(&m->defer_lock);
	bio_list_merge(&m->waited, &m->deferred);
	bio_list_init(&m->deferred);
	spin_unlock_irq(&m->defer_lock);
}

/* Each bio is taken by one caller, whoever let it go. */
static void submit_waited(struct tally_map *m)
{
	struct bio_list waited;
	struct bio *bio;

	spin_lock_irq(&m->defer_lock);
	waited = m->waited;
	bio_list_init(&m->waited);
	spin_unlock_irq(&m->defer_lock);
	while ((bio = bio_list_pop(&waited)))
		submit_bio_noacct(bio);
}

static void map_released(struct tally_disk *td)
{
	submit_waited(container_of(td, struct tally_map, td));
}

/* Shut the gate and wait until nothing is in flight. */
static int drain(struct tally_map *m)
{
	lockdep_assert_held(&m->lock);
	percpu_ref_kill(&m->drain);
	if (!wait_event_killable(m->drained, drain_is_empty(&m->drain))) {
		tally_disk_quiesced(&m->td);
		return 0;
	}
	undrain(m);
	return -EINTR;
}

/* Taken by whoever drains or opens the gate; -ENODEV once it is removed. */
static int lock_map(struct tally_map *m)
{
	if (mutex_lock_killable(&m->lock))
		return -EINTR;
	if (!m->gone)
		return 0;
	mutex_unlock(&m->lock);
	return -ENODEV;
}

static int map_quiesce(struct tally_disk *td, union tally_modes next)
{
	struct tally_map *m = container_of(td, struct tally_map, td);
	int err = lock_map(m);

	if (err)
		return err;
	if (!m->suspended)
		err = drain(m);
	if (err)
		mutex_unlock(&m->lock);
	return err;
}

static void map_unquiesce(struct tally_disk *td)
{
	struct tally_map *m = container_of(td, struct tally_map, td);

	if (!m->suspended)
		undrain(m);
	mutex_unlock(&m->lock);
}

int tally_map_suspend(struct tally_map *m)
{
	int err = lock_map(m);

	if (err)
		return err;
	if (!m->suspended) {
		err = drain(m);
		if (!err)
			WRITE_ONCE(m->suspended, true);
	}
	mutex_unlock(&m->lock);
	submit_waited(m);
	return err;
}

/* --------------------------------------------------------------- topology */

static const struct block_device_operations map_fops;

bool tally_bdev_is_map(struct block_device *bdev)
{
	return bdev->bd_disk->fops == &map_fops;
}

/*
 * Walks visit each map once: it is marked with the number of the walk, and
 * keeps what came out.  They end, because there are no loops yet.
 */
static unsigned int walk;

static int depth_of(struct tally_map *m, struct tally_map *self);

/* How many maps lie on top of each other below t; -ELOOP: self is one. */
static int depth_below(struct tally_table *t, struct tally_map *self)
{
	int depth, deepest = 0;
	unsigned int i;

	for (i = 0; t && i < t->nr_lowers; i++) {
		if (!tally_bdev_is_map(t->flat[i]))
			continue;
		depth = depth_of(disk_to_map(t->flat[i]->bd_disk), self);
		if (depth < 0)
			return depth;
		deepest = max(deepest, depth);
	}
	return deepest;
}

/* The same from m down, m included. */
static int depth_of(struct tally_map *m, struct tally_map *self)
{
	int live, inactive;

	if (m == self)
		return -ELOOP;
	if (m->mark == walk)
		return m->depth;
	live = depth_below(m->live, self);
	if (live < 0)
		return live;
	inactive = depth_below(m->inactive, self);
	if (inactive < 0)
		return inactive;
	m->mark = walk;
	m->depth = 1 + max(live, inactive);
	return m->depth;
}

static bool table_has(struct tally_table *t, struct tally_map *m)
{
	unsigned int i;

	for (i = 0; t && i < t->nr_lowers; i++)
		if (t->flat[i]->bd_disk == m->td.disk)
			return true;
	return false;
}

/* How many maps lie on top of each other above m. */
static int height_above(struct tally_map *m)
{
	struct tally_map *upper;

	if (m->mark == walk)
		return m->depth;
	m->mark = walk;
	m->depth = 0;
	list_for_each_entry(upper, &all_maps, node)
		if (table_has(upper->live, m) || table_has(upper->inactive, m))
			m->depth = max(m->depth, 1 + height_above(upper));
	return m->depth;
}

static int check_topology(struct tally_map *m, struct tally_table *t,
			  struct tally_request *rq)
{
	int below, depth;

	lockdep_assert_held(&tally_topology);
	walk++;
	below = depth_below(t, m);
	if (below < 0)
		return tally_refuse(rq, below, "%s would map onto itself",
				    m->td.name);
	walk++;
	depth = below + 1 + height_above(m);
	if (depth > TALLY_DEPTH_MAX)
		return tally_refuse(rq, -ELOOP,
			"%s: maps would lie %d deep, at most %d", m->td.name,
			depth, TALLY_DEPTH_MAX);
	return 0;
}

/* ----------------------------------------------------------------- tables */

/* Takes t, whatever happens. */
int tally_map_load(struct tally_map *m, struct tally_table *t,
		   struct tally_request *rq)
{
	int err;

	mutex_lock(&tally_topology);
	if (m->dead)
		err = tally_refuse(rq, -ENODEV, "%s is being removed",
				   m->td.name);
	else
		err = check_topology(m, t, rq);
	if (!err)
		swap(m->inactive, t);
	mutex_unlock(&tally_topology);
	tally_table_free(t);
	return err;
}

void tally_map_clear(struct tally_map *m)
{
	struct tally_table *t = NULL;

	mutex_lock(&tally_topology);
	swap(m->inactive, t);
	mutex_unlock(&tally_topology);
	tally_table_free(t);
}

/* What lies above asks for no flushes if there was no cache. */
static int check_cache(struct tally_map *m, struct tally_table *t,
		       struct tally_request *rq)
{
	struct tally_map *upper;

	if (!t->sum.write_cache || bdev_write_cache(m->td.disk->part0))
		return 0;
	list_for_each_entry(upper, &all_maps, node)
		if (table_has(upper->live, m))
			return tally_refuse(rq, -EBUSY,
				"%s lies below %s, and the table would give it a write cache",
				m->td.name, upper->td.name);
	return 0;
}

/*
 * Who has the disk open reads it in blocks of the size that it had: it may not
 * grow under them.  open_mutex is tried only: who holds it may be an opener
 * whose I/O waits for this resume.  It counts as one that has the disk open.
 */
static int apply_limits(struct tally_map *m, struct tally_table *t,
			struct tally_request *rq)
{
	struct gendisk *disk = m->td.disk;
	const unsigned int now = queue_logical_block_size(disk->queue);
	const unsigned int then = t->limits.logical_block_size;
	bool locked;
	int err;

	if (then <= now)
		return tally_stack_apply(disk, &t->limits, &t->sum);
	locked = mutex_trylock(&disk->open_mutex);
	if (!locked || disk_openers(disk))
		err = tally_refuse(rq, -EBUSY,
			"%s is open, and the table would raise its block size from %u to %u",
			m->td.name, now, then);
	else
		err = tally_stack_apply(disk, &t->limits, &t->sum);
	if (locked)
		mutex_unlock(&disk->open_mutex);
	return err;
}

/*
 * Make the inactive table live.  The map is drained.  *old: what was live.
 * Allocates nothing of its own: load did.
 */
static int swap_tables(struct tally_map *m, struct tally_table **old,
		       struct tally_request *rq)
{
	struct gendisk *disk = m->td.disk;
	struct tally_table *t;
	int err = 0;

	lockdep_assert_held(&m->lock);
	mutex_lock(&tally_topology);
	t = m->inactive;
	if (!t) {		/* cleared while we drained */
		if (!m->live)
			err = tally_refuse(rq, -EINVAL, "%s has no table",
					   m->td.name);
		goto unlock;
	}
	err = check_topology(m, t, rq);
	if (!err)
		err = tally_table_recheck(t, rq);
	if (!err)
		err = check_cache(m, t, rq);
	if (!err)
		err = apply_limits(m, t, rq);
	if (err)
		goto unlock;
	*old = m->live;
	m->live = t;
	m->inactive = NULL;
	m->events++;
	m->segments = t->count;
unlock:
	mutex_unlock(&tally_topology);
	if (err || !t)
		return err;

	set_disk_ro(disk, t->read_only);
	if (!set_capacity_and_notify(disk, t->size))
		kobject_uevent(&disk_to_dev(disk)->kobj, KOBJ_CHANGE);
	return 0;
}

static bool has_inactive(struct tally_map *m)
{
	bool has;

	mutex_lock(&tally_topology);
	has = m->inactive;
	mutex_unlock(&tally_topology);
	return has;
}

int tally_map_resume(struct tally_map *m, struct tally_request *rq)
{
	struct tally_table *old = NULL;
	bool drained;
	int err = lock_map(m);

	if (err)
		return err;
	drained = m->suspended;
	if (has_inactive(m)) {
		if (!drained) {
			err = drain(m);
			drained = !err;
		}
		if (!err)
			err = swap_tables(m, &old, rq);
	} else if (!m->live) {
		err = tally_refuse(rq, -EINVAL, "%s has no table", m->td.name);
	}
	if (!err)
		WRITE_ONCE(m->suspended, false);
	/* A resume that failed leaves a running map running. */
	if (drained && !m->suspended)
		undrain(m);
	mutex_unlock(&m->lock);
	submit_waited(m);
	tally_table_free(old);
	return err;
}

/* ------------------------------------------------------------------- life */

static int map_open(struct gendisk *disk)
{
	lockdep_assert_held(&disk->open_mutex);
	return disk_to_map(disk)->removing ? -ENXIO : 0;
}
TALLY_OPEN_FN(map_open)

static void map_free(struct tally_map *m)
{
	tally_map_biosets_exit(m);
	percpu_ref_exit(&m->drain);
	tally_disk_exit(&m->td);
	kfree(m);
}

static void map_free_disk(struct gendisk *disk)
{
	struct tally_map *m = disk_to_map(disk);

	ida_free(&indexes, m->index);
	map_free(m);
	rcu_read_lock();	/* the wait lets us get out of here */
	if (atomic_dec_and_test(&disks))
		wake_up_var(&disks);
	rcu_read_unlock();
}

/* The last reference to a disk may be anybody's, the code is ours. */
void tally_map_wait_freed(void)
{
	wait_var_event(&disks, !atomic_read(&disks));
	synchronize_rcu();
}

static const struct block_device_operations map_fops = {
	.owner		= THIS_MODULE,
	.submit_bio	= tally_map_submit,
	.open		= map_open_op,
	.free_disk	= map_free_disk,
};

static const struct attribute_group *map_groups[] = {
	&tally_disk_group,
	NULL
};

static int alloc_disk(struct tally_map *m, bool read_only,
		      struct tally_request *rq)
{
	const struct tally_shape shape = {
		.block_size = SECTOR_SIZE,
		.max_sectors = TALLY_SECTORS_MAX,
		.nowait = true,
	};
	struct gendisk *disk;

	m->index = ida_alloc_max(&indexes, MAP_INDEX_MAX, GFP_KERNEL);
	if (m->index < 0)
		return m->index == -ENOSPC ?
			tally_refuse(rq, -ENOSPC, "no index left below %d",
				     MAP_INDEX_MAX + 1) : m->index;
	disk = tally_alloc_disk(&shape, NUMA_NO_NODE);
	if (IS_ERR(disk)) {
		ida_free(&indexes, m->index);
		return PTR_ERR(disk);
	}
	disk->fops = &map_fops;
	disk->flags |= GENHD_FL_NO_PART;
	snprintf(disk->disk_name, sizeof(disk->disk_name), "tmap%d", m->index);
	set_disk_ro(disk, read_only);
	tally_disk_attach(&m->td, disk);
	return 0;
}

static int map_init(struct tally_map *m, const char *profile,
		    struct tally_request *rq)
{
	int err;

	mutex_init(&m->lock);
	init_waitqueue_head(&m->drained);
	spin_lock_init(&m->defer_lock);
	bio_list_init(&m->deferred);
	bio_list_init(&m->waited);
	INIT_LIST_HEAD(&m->more);
	INIT_WORK(&m->work, tally_map_work);
	m->suspended = true;

	err = tally_disk_init(&m->td, &tally_map_disk_ops, profile, rq);
	if (err)
		return err;
	err = percpu_ref_init(&m->drain, drain_released,
			      PERCPU_REF_INIT_DEAD | PERCPU_REF_ALLOW_REINIT,
			      GFP_KERNEL);
	if (err)
		goto exit_disk;
	err = tally_map_biosets_init(m);
	if (err)
		goto exit_ref;
	return 0;

exit_ref:
	percpu_ref_exit(&m->drain);
exit_disk:
	tally_disk_exit(&m->td);
	return err;
}

/**
 * tally_map_create() - a mapped device without a table
 * @req: out: number and name
 * @read_only: until a table is loaded, which says for itself
 * @rq: where to say why not
 */
int tally_map_create(struct tally_map_create *req, bool read_only,
		     struct tally_request *rq)
{
	struct gendisk *disk;
	struct tally_map *m;
	int err;

	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	err = map_init(m, req->profile, rq);
	if (err) {
		kfree(m);
		return err;
	}
	err = alloc_disk(m, read_only, rq);
	if (err)
		goto free;
	disk = m->td.disk;
	m->wq = alloc_workqueue("%s", WQ_MEM_RECLAIM | TALLY_WQ_PERCPU, 0,
				disk->disk_name);
	if (!m->wq) {
		err = -ENOMEM;
		goto drop;
	}
	err = *req->name ? tally_disk_claim(&m->td, req->name, req->uuid, rq)
			 : tally_refuse(rq, -EINVAL, "the name is empty");
	if (err)
		goto destroy_wq;
	err = device_add_disk(NULL, disk, map_groups);
	if (err)
		goto unclaim;

	req->major = MAJOR(disk_devt(disk));
	req->minor = MINOR(disk_devt(disk));
	strscpy_pad(req->disk, disk->disk_name, sizeof(req->disk));

	atomic_inc(&disks);
	/* While maps exist their targets' code stays. */
	__module_get(THIS_MODULE);
	mutex_lock(&tally_topology);
	list_add_tail(&m->node, &all_maps);
	mutex_unlock(&tally_topology);
	tally_disk_publish(&m->td);	/* from here on it may be removed */
	return 0;

unclaim:
	tally_disk_unclaim(&m->td);
destroy_wq:
	destroy_workqueue(m->wq);
drop:
	put_disk(disk);
	ida_free(&indexes, m->index);
free:
	map_free(m);
	return err;
}

/* I/O that waits for a resume which will never come. */
static void fail_deferred(struct tally_map *m)
{
	struct bio_list bios;
	struct bio *bio;

	spin_lock_irq(&m->defer_lock);
	m->dead = true;
	bios = m->deferred;
	bio_list_init(&m->deferred);
	spin_unlock_irq(&m->defer_lock);
	while ((bio = bio_list_pop(&bios)))
		bio_io_error(bio);
}

static void take_away(struct tally_map *m)
{
	struct tally_table *live, *inactive;

	tally_disk_kill(&m->td);
	fail_deferred(m);
	del_gendisk(m->td.disk);	/* waits for submitters and sysfs stores */

	mutex_lock(&m->lock);
	m->gone = true;
	if (!m->suspended) {
		percpu_ref_kill(&m->drain);
		wait_event(m->drained, drain_is_empty(&m->drain));
		m->suspended = true;
	}
	mutex_unlock(&m->lock);
	/*
	 * Who put the last reference may still be waking us, inside the RCU
	 * section of percpu_ref_put(): let it leave before m goes.
	 */
	synchronize_rcu();
	destroy_workqueue(m->wq);

	mutex_lock(&tally_topology);
	list_del(&m->node);
	live = m->live;
	inactive = m->inactive;
	m->live = NULL;
	m->inactive = NULL;
	mutex_unlock(&tally_topology);
	tally_table_free(live);
	tally_table_free(inactive);

	tally_disk_unclaim(&m->td);
	put_disk(m->td.disk);
	module_put(THIS_MODULE);	/* the command that runs holds another */
}

int tally_map_remove(struct tally_map *m, struct tally_request *rq)
{
	struct gendisk *disk = m->td.disk;
	int openers, err = 0;

	/* ->open comes with this lock held: nobody slips in. */
	if (mutex_lock_killable(&disk->open_mutex))
		return -EINTR;
	openers = disk_openers(disk);
	if (openers)
		err = tally_refuse(rq, -EBUSY, "%s is open (%d times)",
				   m->td.name, openers);
	else if (!tally_disk_withdraw(&m->td))
		err = tally_refuse(rq, -ENODEV, "%s is being removed",
				   m->td.name);
	else
		m->removing = true;
	mutex_unlock(&disk->open_mutex);
	if (!err)
		take_away(m);
	return err;
}

/* Under the registry lock: no lock of ours. */
static void map_info(struct tally_disk *td, struct tally_disk_info *info)
{
	struct tally_map *m = container_of(td, struct tally_map, td);

	if (READ_ONCE(m->suspended))
		info->state |= TALLY_DISK_SUSPENDED;
	info->events = READ_ONCE(m->events);
	info->segments = READ_ONCE(m->segments);
	if (info->segments)
		info->state |= TALLY_DISK_LIVE;
	if (READ_ONCE(m->inactive))
		info->state |= TALLY_DISK_INACTIVE;
	snprintf(info->detail, sizeof(info->detail), "map of %u segments",
		 info->segments);
}

const struct tally_disk_ops tally_map_disk_ops = {
	.owner		= THIS_MODULE,
	.kind		= TALLY_KIND_MAP,
	.quiesce	= map_quiesce,
	.unquiesce	= map_unquiesce,
	.released	= map_released,
	.info		= map_info,
};
