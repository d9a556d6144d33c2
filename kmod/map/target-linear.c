// SPDX-License-Identifier: GPL-2.0-only
/* linear: a run of one lower disk, "linear device offset". */
#include <linux/slab.h>

#include "map/map.h"

struct linear {
	struct block_device *bdev;
	u64 offset;
};

static int linear_ctr(struct tally_target *ti, struct tally_words *args,
		      struct tally_request *rq)
{
	struct linear *l = kzalloc(sizeof(*l), GFP_KERNEL);
	int err;

	if (!l)
		return -ENOMEM;
	err = tally_target_lower(ti, args, "device", &l->bdev, rq);
	if (!err)
		err = tally_target_u64(ti, args, "offset", &l->offset, rq);
	if (!err)
		err = tally_target_end(ti, args, rq);
	if (err) {
		kfree(l);
		return err;
	}
	ti->context = l;
	return 0;
}

static void linear_dtr(struct tally_target *ti)
{
	kfree(ti->context);
}

static void linear_map(const struct tally_target *ti, sector_t offset,
		       struct tally_extent *x)
{
	const struct linear *l = ti->context;

	x->bdev = l->bdev;
	x->sector = l->offset + offset;
}

static int linear_each(struct tally_target *ti,
		       int (*fn)(struct tally_target *ti,
				 struct block_device *bdev, sector_t start,
				 sector_t length, void *data),
		       void *data)
{
	struct linear *l = ti->context;

	return fn(ti, l->bdev, l->offset, ti->length, data);
}

static void linear_args(const struct tally_target *ti, struct tally_text *text)
{
	const struct linear *l = ti->context;

	tally_print(text, "%u:%u %llu", MAJOR(l->bdev->bd_dev),
		    MINOR(l->bdev->bd_dev), l->offset);
}

const struct tally_target_type tally_target_linear = {
	.name		= "linear",
	.version	= { 1, 0, 0 },
	.about		= "a run of one disk: linear <device> <offset>",
	.ctr		= linear_ctr,
	.dtr		= linear_dtr,
	.map		= linear_map,
	.each		= linear_each,
	.args		= linear_args,
};
