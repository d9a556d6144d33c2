// SPDX-License-Identifier: GPL-2.0-only
/* The list of targets, and what their constructors share. */
#include <linux/slab.h>

#include "map/map.h"

/* A new target is a file and a row. */
const struct tally_target_type *const tally_target_types[] = {
	&tally_target_linear,
	NULL
};

static int refuse_missing(struct tally_target *ti, const char *what,
			  struct tally_request *rq)
{
	return tally_refuse(rq, -EINVAL, "line %u: %s: the %s is missing",
			    ti->table->line, ti->type->name, what);
}

int tally_target_u64(struct tally_target *ti, struct tally_words *args,
		     const char *what, u64 *value, struct tally_request *rq)
{
	struct tally_word word;
	int err;

	if (!tally_next_word(args, &word))
		return refuse_missing(ti, what, rq);
	err = tally_word_u64(&word, value);
	if (err)
		return tally_refuse(rq, -EINVAL, "line %u: %s: the %s %*pE is %s",
				    ti->table->line, ti->type->name, what,
				    SHOW(&word), err == -ERANGE ?
				    "too large" : "not a decimal number");
	return 0;
}

int tally_target_end(struct tally_target *ti, struct tally_words *args,
		     struct tally_request *rq)
{
	struct tally_word word;

	if (!tally_next_word(args, &word))
		return 0;
	return tally_refuse(rq, -EINVAL, "line %u: %s: %*pE is one word too many",
			    ti->table->line, ti->type->name, SHOW(&word));
}

/*
 * Lowers are opened exclusively, with one claim for all our maps: they may
 * share a disk, others are kept out.
 */
static char claim[] = "tally_map";

static int refuse_open(struct tally_target *ti, dev_t dev, int err,
		       struct tally_request *rq)
{
	const char *why = err == -EBUSY ? "is held by somebody else, or mounted" :
			  err == -ENXIO || err == -ENODEV ? "does not exist" :
			  err == -EACCES || err == -EROFS || err == -EPERM ?
			  "is read-only" : "could not be opened";

	return tally_refuse(rq, err, "line %u: %s: device %u:%u %s",
			    ti->table->line, ti->type->name, MAJOR(dev),
			    MINOR(dev), why);
}

static int lower_open(struct tally_target *ti, dev_t dev,
		      struct block_device **bdev, struct tally_request *rq)
{
	struct tally_table *t = ti->table;
	struct tally_lower *lower;
	int err;

	list_for_each_entry(lower, &t->lowers, node)
		if (lower->bdev->bd_dev == dev) {
			*bdev = lower->bdev;
			return 0;
		}

	lower = kzalloc(sizeof(*lower), GFP_KERNEL);
	if (!lower)
		return -ENOMEM;
	*bdev = tally_bdev_open(&lower->handle, dev, BLK_OPEN_READ |
				(t->read_only ? 0 : BLK_OPEN_WRITE), claim);
	if (IS_ERR(*bdev)) {
		err = refuse_open(ti, dev, PTR_ERR(*bdev), rq);
		goto free;
	}
	if (!t->read_only && bdev_read_only(*bdev)) {
		err = refuse_open(ti, dev, -EROFS, rq);
		goto close;
	}
	if (bdev_is_zoned(*bdev)) {
		err = tally_refuse(rq, -EINVAL,
			"line %u: %s: device %u:%u is zoned", t->line,
			ti->type->name, MAJOR(dev), MINOR(dev));
		goto close;
	}
	lower->bdev = *bdev;
	list_add_tail(&lower->node, &t->lowers);
	t->nr_lowers++;
	return 0;

close:
	tally_bdev_close(&lower->handle);
free:
	kfree(lower);
	return err;
}

int tally_target_lower(struct tally_target *ti, struct tally_words *args,
		       const char *what, struct block_device **bdev,
		       struct tally_request *rq)
{
	struct tally_word word;
	u32 major, minor;

	if (!tally_next_word(args, &word))
		return refuse_missing(ti, what, rq);
	if (tally_word_dev(&word, &major, &minor))
		return tally_refuse(rq, -EINVAL,
			"line %u: %s: the %s %*pE is not major:minor",
			ti->table->line, ti->type->name, what, SHOW(&word));
	return lower_open(ti, MKDEV(major, minor), bdev, rq);
}
