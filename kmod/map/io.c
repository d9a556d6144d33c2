// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of a bio, in one direction:
 *
 *   submit_bio - gate and drain reference - account begin - map - lower disk
 *   lower disk - account end - original completion - drain reference put
 *
 * One clone per original, from a bioset with a per-CPU cache where the kernel
 * has one that interrupts can give back to.  Hooking the
 * original's completion in place would hang: a chain parent completes after
 * children that may be deferred behind the very drain that waits for it.
 *
 * An original that takes more than one lower bio (it crosses segments, or is
 * a flush for several disks) becomes a series of fragments.  Inside ->submit_bio
 * only the first allocation may block: the fragments before it sit on
 * current->bio_list and cannot end until we return.  So fragments are allocated
 * without waiting, and when that fails the map's worker, which has no such list,
 * goes on with the rest.
 */
#include <linux/blkdev.h>
#include <linux/slab.h>
#include <trace/events/block.h>

#include "map/drain.h"
#include "map/map.h"

#define MAP_RESERVE	16	/* I/Os and fragments that always make progress */
#define MAP_NOWAIT	(GFP_NOWAIT | __GFP_NOWARN)

enum map_stage {
	STAGE_FLUSH,		/* an empty flush to every lower */
	STAGE_DATA,		/* the sectors, each run to its lower */
};

/* One original bio; lives in front of its clone. */
struct map_io {
	struct tally_map *map;
	struct bio *orig;
	struct tally_io acct;

	/* only where there are fragments */
	enum map_stage stage;
	unsigned int done;	/* lowers flushed, or sectors submitted */
	atomic_t left;		/* fragments in flight, and who submits them */
	blk_status_t status;	/* first error */
	struct list_head more;	/* on map->more */

	struct bio clone;	/* last: the bioset's inline vectors follow */
};

struct map_fragment {
	struct map_io *io;
	struct bio clone;
};

int tally_map_biosets_init(struct tally_map *m)
{
	int err;

	err = bioset_init(&m->ios, MAP_RESERVE, offsetof(struct map_io, clone),
			  TALLY_BIOSET_CACHE);
	if (err)
		return err;
	err = bioset_init(&m->fragments, MAP_RESERVE,
			  offsetof(struct map_fragment, clone), 0);
	if (err)
		bioset_exit(&m->ios);
	return err;
}

void tally_map_biosets_exit(struct tally_map *m)
{
	bioset_exit(&m->fragments);
	bioset_exit(&m->ios);
}

/* ------------------------------------------------------------- completion */

/* Ends the original; io and its clone are gone, and m may be after this. */
static __always_inline void map_finish(struct map_io *io, blk_status_t status)
{
	struct tally_map *m = io->map;
	struct bio *orig = io->orig;

	tally_end(&m->td.acct, &io->acct);
	bio_put(&io->clone);
	if (unlikely(status))
		orig->bi_status = status;
	bio_endio(orig);
	drain_put(&m->drain);
}

static void map_end_io(struct bio *clone)
{
	map_finish(container_of(clone, struct map_io, clone),
		   clone->bi_status);
}

/* Hand an I/O to the worker; it still holds its drain reference. */
static void map_go_on(struct map_io *io)
{
	struct tally_map *m = io->map;
	unsigned long flags;

	/* Queued under the lock: once the worker has the io, m may go. */
	spin_lock_irqsave(&m->defer_lock, flags);
	list_add_tail(&io->more, &m->more);
	queue_work(m->wq, &m->work);
	spin_unlock_irqrestore(&m->defer_lock, flags);
}

/* One fragment, or the submitter, is done with the stage. */
static void map_io_put(struct map_io *io)
{
	if (!atomic_dec_and_test(&io->left))
		return;
	if (io->stage == STAGE_FLUSH && bio_sectors(io->orig) && !io->status) {
		/* All caches are flushed: now the data may go. */
		io->stage = STAGE_DATA;
		io->done = 0;
		atomic_set(&io->left, 1);
		map_go_on(io);
		return;
	}
	map_finish(io, io->status);
}

static void map_io_error(struct map_io *io, blk_status_t status)
{
	cmpxchg(&io->status, BLK_STS_OK, status);
}

static void map_end_fragment(struct bio *bio)
{
	struct map_fragment *f = container_of(bio, struct map_fragment, clone);
	struct map_io *io = f->io;

	if (unlikely(bio->bi_status))
		map_io_error(io, bio->bi_status);
	bio_put(bio);
	map_io_put(io);
}

/* ---------------------------------------------------------- where it goes */

/* In: x->length as wanted, inside the segment. */
static __always_inline void map_extent(const struct tally_target *ti,
				       sector_t sector,
				       struct tally_extent *x)
{
	if (likely(ti->bdev)) {
		x->bdev = ti->bdev;
		x->sector = sector + ti->delta;
	} else {
		ti->type->map(ti, sector - ti->start, x);
	}
}

/*
 * The clone is made without a device and given one after: the other way round
 * the block layer would look up a blkg for the current task first, and then
 * that of the source.
 */
static __always_inline struct bio *
map_clone(struct block_device *bdev, struct bio *orig, gfp_t gfp,
	  struct bio_set *set)
{
	struct bio *clone = bio_alloc_clone(NULL, orig, gfp, set);

	if (likely(clone)) {
		clone->bi_bdev = bdev;
		bio_clone_blkg_association(clone, orig);
	}
	return clone;
}

/* -------------------------------------------------------------- fragments */

static struct bio *flush_fragment(struct map_io *io, gfp_t gfp)
{
	struct block_device *bdev = io->map->live->flat[io->done];
	struct bio *bio;

	bio = bio_alloc_bioset(bdev, 0, REQ_OP_WRITE | REQ_PREFLUSH |
			       (io->orig->bi_opf & (REQ_SYNC | REQ_NOWAIT)),
			       gfp, &io->map->fragments);
	if (bio)
		io->done++;
	return bio;
}

static struct bio *data_fragment(struct map_io *io, gfp_t gfp)
{
	struct bio *orig = io->orig;
	const sector_t sector = orig->bi_iter.bi_sector + io->done;
	struct tally_target *ti = tally_table_find(io->map->live, sector);
	struct tally_extent x = {
		.length = min_t(sector_t, bio_sectors(orig) - io->done,
				ti->start + ti->length - sector),
	};
	struct bio *bio;

	map_extent(ti, sector, &x);
	bio = map_clone(x.bdev, orig, gfp, &io->map->fragments);
	if (!bio)
		return NULL;
	bio_advance(bio, (u64)io->done << SECTOR_SHIFT);
	bio->bi_iter.bi_size = x.length << SECTOR_SHIFT;
	bio->bi_iter.bi_sector = x.sector;
	bio->bi_opf &= ~REQ_PREFLUSH;	/* had its own stage */
	bio_clear_polled(bio);
	io->done += x.length;
	return bio;
}

/*
 * Submit what is left of the stage.  false: no memory without waiting.
 */
static bool feed(struct map_io *io, gfp_t gfp)
{
	const bool flush = io->stage == STAGE_FLUSH;
	const unsigned int total = flush ? io->map->live->nr_lowers
					 : bio_sectors(io->orig);

	while (io->done < total) {
		struct bio *bio = flush ? flush_fragment(io, gfp)
					: data_fragment(io, gfp);

		if (!bio)
			return false;
		container_of(bio, struct map_fragment, clone)->io = io;
		bio->bi_end_io = map_end_fragment;
		atomic_inc(&io->left);
		submit_bio_noacct(bio);
	}
	return true;
}

static void map_feed(struct map_io *io, gfp_t gfp)
{
	if (!feed(io, gfp)) {
		if (!(io->orig->bi_opf & REQ_NOWAIT)) {
			map_go_on(io);
			return;
		}
		map_io_error(io, BLK_STS_AGAIN);
	}
	map_io_put(io);
}

/* ------------------------------------------------------------- submission */

/* The record of an original, with a clone for bdev in it; NULL: NOWAIT. */
static __always_inline struct map_io *
map_io_alloc(struct tally_map *m, struct bio *orig, struct block_device *bdev)
{
	const blk_opf_t opf = orig->bi_opf;
	const gfp_t gfp = unlikely(opf & REQ_NOWAIT) ? MAP_NOWAIT : GFP_NOIO;
	struct bio *clone;
	struct map_io *io;

	/*
	 * The per-CPU cache serves only who asks for it in the source's flags;
	 * the source itself may come from a pool without one.
	 */
	orig->bi_opf = opf | REQ_ALLOC_CACHE;
	clone = map_clone(bdev, orig, gfp, &m->ios);
	orig->bi_opf = opf;
	if (unlikely(!clone))
		return NULL;
	/*
	 * What may come of the reserve goes back to it, and not (as kernels
	 * before 7 let it) to the cache of whichever CPU it ends on.
	 */
	if (unlikely(READ_ONCE(m->ios.bio_pool.curr_nr) <
		     m->ios.bio_pool.min_nr))
		clone->bi_opf &= ~REQ_ALLOC_CACHE;
	io = container_of(clone, struct map_io, clone);
	io->map = m;
	io->orig = orig;
	return io;
}

/* An original that takes more than one lower bio, or an empty flush. */
static noinline void map_pieces(struct tally_map *m, struct bio *orig)
{
	struct map_io *io = map_io_alloc(m, orig, m->live->flat[0]);

	if (!io) {
		bio_wouldblock_error(orig);
		drain_put(&m->drain);
		return;
	}
	tally_begin(&m->td.acct, &io->acct, orig->bi_bdev, bio_op(orig),
		    bio_sectors(orig));
	io->stage = orig->bi_opf & REQ_PREFLUSH ? STAGE_FLUSH : STAGE_DATA;
	io->done = 0;
	io->status = BLK_STS_OK;
	atomic_set(&io->left, 1);
	map_feed(io, MAP_NOWAIT);
}

/* A bio that holds a drain reference. */
static __always_inline void map_bio(struct tally_map *m, struct bio *orig)
{
	const sector_t sector = orig->bi_iter.bi_sector;
	const unsigned int sectors = bio_sectors(orig);
	struct tally_table *t = m->live;
	struct tally_extent x = { .length = sectors };
	struct tally_target *ti;
	struct map_io *io;

	/* The table may have shrunk since the block layer looked. */
	if (unlikely(sector + sectors > t->size))
		goto error;
	if (unlikely(!sectors ||
		     ((orig->bi_opf & REQ_PREFLUSH) && t->nr_lowers > 1)))
		goto pieces;

	ti = t->targets;
	if (unlikely(t->count > 1))
		ti = tally_table_find(t, sector);
	if (unlikely(sectors > ti->start + ti->length - sector))
		goto pieces;
	map_extent(ti, sector, &x);
	if (unlikely(x.length < sectors))
		goto pieces;

	io = map_io_alloc(m, orig, x.bdev);
	if (unlikely(!io)) {
		bio_wouldblock_error(orig);
		goto put;
	}
	tally_begin(&m->td.acct, &io->acct, orig->bi_bdev, bio_op(orig),
		    sectors);
	io->clone.bi_iter.bi_sector = x.sector;
	io->clone.bi_end_io = map_end_io;
	trace_block_bio_remap(&io->clone, disk_devt(m->td.disk), sector);
	submit_bio_noacct(&io->clone);
	return;

pieces:
	map_pieces(m, orig);
	return;
error:
	bio_io_error(orig);
put:
	drain_put(&m->drain);
}

/*
 * The gate is shut.  Under the lock look again: resume opens it first and takes
 * the deferred bios second, under the same lock, so none is left behind.  true:
 * it was opened, and we are in.
 */
static noinline bool map_defer(struct tally_map *m, struct bio *bio)
{
	blk_status_t status = BLK_STS_OK;
	unsigned long flags;
	bool in;

	spin_lock_irqsave(&m->defer_lock, flags);
	in = drain_tryget(&m->drain);
	if (in)
		;
	else if (m->dead || !m->live)
		status = BLK_STS_IOERR;
	else if (bio->bi_opf & REQ_NOWAIT)
		status = BLK_STS_AGAIN;
	else
		bio_list_add(&m->deferred, bio);
	spin_unlock_irqrestore(&m->defer_lock, flags);

	if (status == BLK_STS_AGAIN)
		bio_wouldblock_error(bio);
	else if (status)
		bio_io_error(bio);
	return in;
}

void tally_map_submit(struct bio *bio)
{
	struct tally_map *m = disk_to_map(bio->bi_bdev->bd_disk);

	if (likely(drain_tryget(&m->drain)) || map_defer(m, bio))
		map_bio(m, bio);
}

/*
 * I/Os that wait for memory or for their data stage.  Takes fragments only,
 * never a record of the map, whose reserve may be what waits here.
 */
void tally_map_work(struct work_struct *work)
{
	struct tally_map *m = container_of(work, struct tally_map, work);
	struct map_io *io, *next;
	LIST_HEAD(more);

	spin_lock_irq(&m->defer_lock);
	list_splice_init(&m->more, &more);
	spin_unlock_irq(&m->defer_lock);

	list_for_each_entry_safe(io, next, &more, more) {
		list_del(&io->more);
		map_feed(io, GFP_NOIO);
	}
}
