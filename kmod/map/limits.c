// SPDX-License-Identifier: GPL-2.0-only
/* The limits of a table: those of its lowers, stacked by the block layer. */
#include "map/map.h"

struct stack {
	struct tally_table *t;
	bool discard;			/* every lower can */
};

static int stack_run(struct tally_target *ti, struct block_device *bdev,
		     sector_t start, sector_t length, void *data)
{
	struct request_queue *q = bdev_get_queue(bdev);
	struct stack *s = data;
	struct tally_table *t = s->t;
	struct tally_lowers *sum = &t->sum;

	/* A misalignment of physical blocks costs, but works: as in DM. */
	blk_stack_limits(&t->limits, &q->limits,
			 get_start_sect(bdev) + start);
	s->discard &= !!bdev_max_discard_sectors(bdev);
	sum->nowait &= !!bdev_nowait(bdev);
	sum->stable_writes |= !!bdev_stable_writes(bdev);
	sum->rotational |= bdev_rot(bdev);
	if (bdev_write_cache(bdev)) {
		sum->write_cache = true;
		sum->fua &= !!bdev_fua(bdev);
	}
	return 0;
}

/* The blocks of the whole may be larger than those of some lowers. */
static int check_blocks(struct tally_table *t, struct tally_request *rq)
{
	const unsigned int block = t->limits.logical_block_size;
	const unsigned int mask = (block >> SECTOR_SHIFT) - 1;
	unsigned int i;

	for (i = 0; i < t->count; i++) {
		const struct tally_target *ti = &t->targets[i];

		if ((ti->start | ti->length) & mask)
			return tally_refuse(rq, -EINVAL,
				"segment %u, %llu sectors from %llu on: not aligned to the %u byte blocks of the table",
				i, (u64)ti->length, (u64)ti->start, block);
	}
	return 0;
}

int tally_table_limits(struct tally_table *t, struct tally_request *rq)
{
	struct stack s = { .t = t, .discard = true };
	unsigned int i;

	t->sum = (struct tally_lowers){ .nowait = true, .fua = true };
	tally_stack_init(&t->limits);
	for (i = 0; i < t->count; i++)
		t->targets[i].type->each(&t->targets[i], stack_run, &s);
	t->sum.fua &= t->sum.write_cache;
	if (!s.discard)
		tally_stack_no_discard(&t->limits);
	tally_stack_claim(&t->limits, t->sum.fua);
	return check_blocks(t, rq);
}
