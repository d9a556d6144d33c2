// SPDX-License-Identifier: GPL-2.0-only
/* The bio front end: what happens to an I/O between submission and its end. */
#include <linux/bio.h>

#include "ram/ram.h"

static noinline blk_status_t transfer_data(struct tally_ram *r,
					   struct bio *bio)
{
	const enum req_op op = bio_op(bio);

	if (op == REQ_OP_READ || op == REQ_OP_WRITE)
		return ram_copy_bio(r, bio, op == REQ_OP_WRITE,
				    bio->bi_opf & REQ_NOWAIT);
	return ram_transfer_none(r, op, bio->bi_iter.bi_sector,
				 bio_sectors(bio), bio->bi_opf & REQ_NOWAIT);
}

/* Move the data, or pretend to. */
static __always_inline blk_status_t transfer(struct tally_ram *r,
					     struct bio *bio)
{
	if (unlikely(bio_end_sector(bio) > r->sectors))
		return BLK_STS_IOERR;
	if (ram_moves_nothing(r, bio_op(bio)))
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
	if (unlikely(r->ends != COMPLETE_INLINE)) {
		ram_submit_async(r, bio);
	} else if (READ_ONCE(r->td.acct.modes.all)) {
		submit_counted(r, bio);
	} else {
		/* No accounting: nothing to keep, nothing on the stack. */
		carry_out(r, bio);
		bio_endio(bio);
	}
}
