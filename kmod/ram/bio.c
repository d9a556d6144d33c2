// SPDX-License-Identifier: GPL-2.0-only
/* The bio front end: what happens to an I/O between submission and its end. */
#include <linux/bio.h>
#include <linux/highmem.h>

#include "ram/ram.h"

static blk_status_t copy_bio(struct tally_ram *r, struct bio *bio, bool write)
{
	const bool nowait = bio->bi_opf & REQ_NOWAIT;
	u64 pos = bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_segment(bv, bio, iter) {
		void *buf = bvec_kmap_local(&bv);
		blk_status_t status;

		/* May sleep for a page of a sparse store; kmap_local allows it. */
		status = ram_store_copy(&r->store, pos, buf, bv.bv_len, write,
					nowait);
		if (!write)
			flush_dcache_page(bv.bv_page);
		kunmap_local(buf);
		if (unlikely(status))
			return status;
		pos += bv.bv_len;
	}
	return BLK_STS_OK;
}

/* Move the data, or pretend to. */
blk_status_t ram_transfer(struct tally_ram *r, struct bio *bio)
{
	const sector_t sector = bio->bi_iter.bi_sector;

	if (unlikely(bio_end_sector(bio) > r->sectors))
		return BLK_STS_IOERR;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (r->backing == BACKING_NULL)
			return BLK_STS_OK;
		return copy_bio(r, bio, op_is_write(bio_op(bio)));
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

void tally_ram_submit(struct bio *bio)
{
	struct tally_ram *r = disk_to_ram(bio->bi_bdev->bd_disk);
	struct tally_io io;

	if (unlikely(r->completion != COMPLETE_INLINE)) {
		ram_submit_async(r, bio);
		return;
	}
	tally_begin(&r->td.acct, &io, bio->bi_bdev, bio_op(bio),
		    bio_sectors(bio));
	bio->bi_status = ram_transfer(r, bio);
	tally_end(&r->td.acct, &io);
	bio_endio(bio);
}
