/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract of a target: one file, one row in targets.c.
 *
 * A target never owns a bio.  It answers one question, "where does this sector
 * go, and how far does that hold?", and the io path does the rest.
 */
#ifndef TALLY_MAP_TARGET_H
#define TALLY_MAP_TARGET_H

#include "core/tally.h"
#include "core/words.h"

struct tally_table;
struct tally_text;

/* A run of sectors on a lower disk. */
struct tally_extent {
	struct block_device *bdev;
	sector_t sector;
	sector_t length;	/* in: wanted; out: at most that, never 0 */
};

/*
 * One segment of a table.  A target whose sectors all go to one disk at one
 * distance says so in bdev and delta; ->map is not called then.
 */
struct tally_target {
	sector_t start;
	sector_t length;
	struct block_device *bdev;
	sector_t delta;			/* of the device's sectors, modulo 2^64 */
	const struct tally_target_type *type;
	void *context;
	struct tally_table *table;
	unsigned int line;		/* of the text */
};

/**
 * struct tally_target_type - a kind of target
 * @name: as it stands in tables
 * @version: changes when the meaning of the arguments does
 * @about: one line for listings
 * @ctr: parse the arguments, open lowers with tally_target_lower(), leave a
 *	context in @ti.  On errors: say why, leave nothing.
 * @dtr: free the context, if there is one; lowers are closed with the table
 * @map: where @offset (sectors from the segment's start) goes, if ti->bdev is
 *	not set.  Any context that submits I/O; must not sleep, must not fail.
 * @each: call @fn for every lower and the run of it that is used, until it
 *	returns non-zero; for checks and limits
 * @args: write the arguments, as @ctr takes them, without a newline
 * @status: write the status, likewise; NULL: the target has none
 */
struct tally_target_type {
	const char *name;
	unsigned int version[3];
	const char *about;
	int (*ctr)(struct tally_target *ti, struct tally_words *args,
		   struct tally_request *rq);
	void (*dtr)(struct tally_target *ti);
	void (*map)(const struct tally_target *ti, sector_t offset,
		    struct tally_extent *x);
	int (*each)(struct tally_target *ti,
		    int (*fn)(struct tally_target *ti, struct block_device *bdev,
			      sector_t start, sector_t length, void *data),
		    void *data);
	void (*args)(const struct tally_target *ti, struct tally_text *text);
	void (*status)(const struct tally_target *ti, struct tally_text *text);
};

/* Every target, NULL at the end. */
extern const struct tally_target_type *const tally_target_types[];
extern const struct tally_target_type tally_target_linear;

/*
 * For @ctr: the next argument as a device that holds @length sectors from
 * @start on; as a number.  @what names it in the reason.
 */
int tally_target_lower(struct tally_target *ti, struct tally_words *args,
		       const char *what, struct block_device **bdev,
		       struct tally_request *rq);
int tally_target_u64(struct tally_target *ti, struct tally_words *args,
		     const char *what, u64 *value, struct tally_request *rq);
/* Nothing is left. */
int tally_target_end(struct tally_target *ti, struct tally_words *args,
		     struct tally_request *rq);

/* Text that grows; write into it with tally_print(). */
__printf(2, 3)
void tally_print(struct tally_text *text, const char *fmt, ...);

#endif /* TALLY_MAP_TARGET_H */
