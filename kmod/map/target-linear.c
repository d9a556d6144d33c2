// SPDX-License-Identifier: GPL-2.0-only
/* linear: a run of one lower disk, "linear device offset". */
#include "map/map.h"

/* The whole context is ti->bdev and ti->delta. */
static u64 offset_of(const struct tally_target *ti)
{
	return ti->start + ti->delta;
}

static int linear_ctr(struct tally_target *ti, struct tally_words *args,
		      struct tally_request *rq)
{
	u64 offset;
	int err;

	err = tally_target_lower(ti, args, "device", &ti->bdev, rq);
	if (!err)
		err = tally_target_u64(ti, args, "offset", &offset, rq);
	if (!err)
		err = tally_target_end(ti, args, rq);
	if (!err)
		ti->delta = offset - ti->start;
	return err;
}

static int linear_each(struct tally_target *ti,
		       int (*fn)(struct tally_target *ti,
				 struct block_device *bdev, sector_t start,
				 sector_t length, void *data),
		       void *data)
{
	return fn(ti, ti->bdev, offset_of(ti), ti->length, data);
}

static void linear_args(const struct tally_target *ti, struct tally_text *text)
{
	tally_print(text, "%u:%u %llu", MAJOR(ti->bdev->bd_dev),
		    MINOR(ti->bdev->bd_dev), offset_of(ti));
}

const struct tally_target_type tally_target_linear = {
	.name		= "linear",
	.version	= { 1, 0, 0 },
	.about		= "a run of one disk: linear <device> <offset>",
	.ctr		= linear_ctr,
	.each		= linear_each,
	.args		= linear_args,
};
