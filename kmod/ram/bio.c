// SPDX-License-Identifier: GPL-2.0-only
/* The bio front end: what happens to an I/O between submission and its end. */
#include <linux/bio.h>

#include "ram/ram.h"

/* May sleep for a page of a sparse store, unless the bio says not to. */
static __always_inline blk_status_t copy_bio(struct tally_ram *r,
					     struct bio *bio, bool write)
{
	const bool nowait = bio->bi_opf & REQ_NOWAIT;
	u64 pos = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_bvec(bv, bio, iter) {
		blk_status_t status = ram_store_copy(&r->store, pos,
						     bvec_virt(&bv), bv.bv_len,
						     write, nowait);

		if (unlikely(status))
			return status;
		pos += bv.bv_len;
	}
	return BLK_STS_OK;
}

static noinline blk_status_t transfer_data(struct tally_ram *r,
					   struct bio *bio)
{
	const sector_t sector = bio->bi_iter.bi_sector;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return copy_bio(r, bio, false);
	case REQ_OP_WRITE:
		return copy_bio(r, bio, true);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		if (r->backing == BACKING_NULL)
			return BLK_STS_OK;
		/* Clearing can take long: not where nobody may wait. */
		if ((bio->bi_opf & REQ_NOWAIT) &&
		    bio_sectors(bio) > SZ_1M >> SECTOR_SHIFT)
			return BLK_STS_AGAIN;
		return ram_store_zero(&r->store, (u64)sector << SECTOR_SHIFT,
				      (u64)bio_sectors(bio) << SECTOR_SHIFT);
	case REQ_OP_FLUSH:
		return BLK_STS_OK;	/* no cache, nothing to flush */
	default:
		return BLK_STS_NOTSUPP;
	}
}

/* Move the data, or pretend to. */
static __always_inline blk_status_t transfer(struct tally_ram *r,
					     struct bio *bio)
{
	const enum req_op op = bio_op(bio);

	if (unlikely(bio_end_sector(bio) > r->sectors))
		return BLK_STS_IOERR;
	if (r->backing == BACKING_NULL &&
	    (op == REQ_OP_READ || op == REQ_OP_WRITE))
		return BLK_STS_OK;
	return transfer_data(r, bio);
}

/* A bio chained to this one may have failed already: that stays. */
static __always_inline void carry_out(struct tally_ram *r, struct bio *bio)
{
	const blk_status_t status = transfer(r, bio);

	if (unlikely(status))
		bio->bi_status = status;
}

void ram_carry_out(struct tally_ram *r, struct bio *bio)
{
	carry_out(r, bio);
}

static noinline void submit_counted(struct tally_ram *r, struct bio *bio)
{
	struct tally_io io;

	tally_begin(&r->td.acct, &io, bio->bi_bdev, bio_op(bio),
		    bio_sectors(bio));
	carry_out(r, bio);
	tally_end(&r->td.acct, &io);
	bio_endio(bio);
}

void tally_ram_submit(struct bio *bio)
{
	struct tally_ram *r = disk_to_ram(bio->bi_bdev->bd_disk);

	/*
	 * What was changed while the queue was frozen is seen after its
	 * reference was got: pairs with the barrier in ram_unquiesce().
	 */
	smp_rmb();
	if (unlikely(r->completion != COMPLETE_INLINE)) {
		ram_submit_async(r, bio);
	} else if (READ_ONCE(r->td.acct.modes.all)) {
		submit_counted(r, bio);
	} else {
		/* No accounting: nothing to keep, nothing on the stack. */
		carry_out(r, bio);
		bio_endio(bio);
	}
}
