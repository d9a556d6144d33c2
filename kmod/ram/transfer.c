// SPDX-License-Identifier: GPL-2.0-only
/* What an I/O does that carries no data, however it came. */
#include <linux/sizes.h>

#include "ram/ram.h"

/* Clearing can take long: not where nobody may wait. */
#define ZERO_AT_ONCE	(SZ_1M >> SECTOR_SHIFT)

blk_status_t ram_transfer_none(struct tally_ram *r, enum req_op op,
			       sector_t sector, sector_t sectors, bool nowait)
{
	switch (op) {
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		if (r->backing == BACKING_NULL)
			return BLK_STS_OK;
		if (nowait && sectors > ZERO_AT_ONCE)
			return BLK_STS_AGAIN;
		return ram_store_zero(&r->store, (u64)sector << SECTOR_SHIFT,
				      (u64)sectors << SECTOR_SHIFT,
				      ram_may_sleep(r));
	case REQ_OP_FLUSH:
		return BLK_STS_OK;	/* no cache, nothing to flush */
	default:
		return BLK_STS_NOTSUPP;
	}
}
