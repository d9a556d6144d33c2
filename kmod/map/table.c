// SPDX-License-Identifier: GPL-2.0-only
/* A table: from text to segments, and back to text. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "map/map.h"

/* Sizes are loff_t in bytes to the block layer. */
#define TABLE_SECTORS_MAX	((u64)LLONG_MAX >> SECTOR_SHIFT)

static unsigned int count_lines(struct tally_words text)
{
	struct tally_words line;
	unsigned int count = 0;

	while (tally_next_line(&text, &line))
		count++;
	return count;
}

static int next_number(struct tally_table *t, struct tally_words *line,
		       const char *what, u64 *value, struct tally_request *rq)
{
	struct tally_word word;
	int err;

	if (!tally_next_word(line, &word))
		return tally_refuse(rq, -EINVAL, "line %u: the %s is missing",
				    t->line, what);
	err = tally_word_u64(&word, value);
	if (err)
		return tally_refuse(rq, -EINVAL, "line %u: the %s %*pE is %s",
				    t->line, what, SHOW(&word),
				    err == -ERANGE ? "too large"
						   : "not a decimal number");
	return 0;
}

static int next_type(struct tally_table *t, struct tally_words *line,
		     struct tally_target *ti, struct tally_request *rq)
{
	struct tally_word word;
	unsigned int i;

	if (!tally_next_word(line, &word))
		return tally_refuse(rq, -EINVAL, "line %u: the target is missing",
				    t->line);
	for (i = 0; tally_target_types[i]; i++)
		if (tally_word_is(&word, tally_target_types[i]->name)) {
			ti->type = tally_target_types[i];
			return 0;
		}
	return tally_refuse(rq, -EINVAL, "line %u: %*pE is not a target",
			    t->line, SHOW(&word));
}

/* A lower's run: on the disk, and on its blocks. */
static int check_run(struct tally_target *ti, struct block_device *bdev,
		     sector_t start, sector_t length, void *data)
{
	const u64 sectors = bdev_nr_sectors(bdev);
	const unsigned int block = bdev_logical_block_size(bdev);
	const unsigned int mask = (block >> SECTOR_SHIFT) - 1;
	struct tally_request *rq = data;
	const dev_t dev = bdev->bd_dev;

	if (start > sectors || length > sectors - start)
		return tally_refuse(rq, -EINVAL,
			"line %u: %s: %llu sectors from %llu on: device %u:%u has %llu",
			ti->line, ti->type->name, (u64)length,
			(u64)start, MAJOR(dev), MINOR(dev), sectors);
	if ((start | length) & mask)
		return tally_refuse(rq, -EINVAL,
			"line %u: %s: %llu sectors from %llu on: not aligned to the %u byte blocks of device %u:%u",
			ti->line, ti->type->name, (u64)length,
			(u64)start, block, MAJOR(dev), MINOR(dev));
	return 0;
}

static int parse_line(struct tally_table *t, struct tally_words *line,
		      struct tally_request *rq)
{
	struct tally_target *ti = &t->targets[t->count];
	u64 start, length;
	int err;

	ti->line = t->line;
	err = next_number(t, line, "start", &start, rq);
	if (!err)
		err = next_number(t, line, "length", &length, rq);
	if (!err)
		err = next_type(t, line, ti, rq);
	if (err)
		return err;
	if (start != t->size)
		return tally_refuse(rq, -EINVAL,
			"line %u: starts at %llu, %s the %llu sectors before it",
			t->line, start, start > t->size ?
			"with a gap after" : "overlapping", (u64)t->size);
	if (!length)
		return tally_refuse(rq, -EINVAL, "line %u: the length is 0",
				    t->line);
	if (length > TABLE_SECTORS_MAX - start)
		return tally_refuse(rq, -EINVAL,
			"line %u: %llu sectors from %llu on: a device ends at %llu at most",
			t->line, length, start, TABLE_SECTORS_MAX);

	ti->table = t;
	ti->start = start;
	ti->length = length;
	err = ti->type->ctr(ti, line, rq);
	if (err)
		return err;
	t->size += length;
	t->ends[t->count++] = t->size;
	return ti->type->each(ti, check_run, rq);
}

/*
 * What a table says of its lowers, anew: between load and resume they may have
 * got other sizes, limits and caches.  Nobody uses t yet.
 */
int tally_table_recheck(struct tally_table *t, struct tally_request *rq)
{
	unsigned int i;
	int err;

	for (i = 0; i < t->count; i++) {
		struct tally_target *ti = &t->targets[i];

		err = ti->type->each(ti, check_run, rq);
		if (err)
			return err;
	}
	return tally_table_limits(t, rq);
}

static int alloc_segments(struct tally_table *t, unsigned int count)
{
	t->targets = kvcalloc(count, sizeof(*t->targets), GFP_KERNEL);
	t->ends = kvcalloc(count, sizeof(*t->ends), GFP_KERNEL);
	return t->targets && t->ends ? 0 : -ENOMEM;
}

/* The distinct lowers as an array, for who goes through them with I/O. */
static int flatten(struct tally_table *t)
{
	struct tally_lower *lower;
	unsigned int i = 0;

	t->flat = kvcalloc(t->nr_lowers, sizeof(*t->flat), GFP_KERNEL);
	if (!t->flat)
		return -ENOMEM;
	list_for_each_entry(lower, &t->lowers, node)
		t->flat[i++] = lower->bdev;
	return 0;
}

/* Line numbers are those of the text, blank lines and comments counted. */
static int parse_lines(struct tally_table *t, struct tally_words text,
		       struct tally_request *rq)
{
	const char *counted = text.at;
	struct tally_words line;
	int err = 0;

	t->line = 1;
	while (!err && tally_next_line(&text, &line)) {
		for (; counted < line.at; counted++)
			t->line += *counted == '\n';
		err = parse_line(t, &line, rq);
		cond_resched();
	}
	return err;
}

/**
 * tally_table_parse() - a table, its lowers open, its limits computed
 * @text: what was loaded, no NUL needed
 * @len: its bytes
 * @read_only: open the lowers for reading only
 * @rq: where to say why not
 *
 * Holds no lock: it opens disks.
 */
struct tally_table *tally_table_parse(const char *text, size_t len,
				      bool read_only,
				      struct tally_request *rq)
{
	const struct tally_words words = { text, text + len };
	const unsigned int count = count_lines(words);
	struct tally_table *t;
	int err;

	if (!count)
		return ERR_PTR(tally_refuse(rq, -EINVAL, "the table is empty"));
	if (count > TALLY_SEGMENTS_MAX)
		return ERR_PTR(tally_refuse(rq, -E2BIG,
			"a table of %u segments: at most %d", count,
			TALLY_SEGMENTS_MAX));
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&t->lowers);
	t->read_only = read_only;

	err = alloc_segments(t, count);
	if (!err)
		err = parse_lines(t, words, rq);
	if (!err)
		err = flatten(t);
	if (!err)
		err = tally_table_limits(t, rq);
	if (err) {
		tally_table_free(t);
		return ERR_PTR(err);
	}
	return t;
}

/* Nothing uses it any more.  Closes lowers: no lock is held. */
void tally_table_free(struct tally_table *t)
{
	struct tally_lower *lower, *next;
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < t->count; i++)
		if (t->targets[i].type->dtr)
			t->targets[i].type->dtr(&t->targets[i]);
	list_for_each_entry_safe(lower, next, &t->lowers, node) {
		tally_bdev_close(&lower->handle);
		kfree(lower);
	}
	kvfree(t->flat);
	kvfree(t->ends);
	kvfree(t->targets);
	kfree(t);
}

/* ------------------------------------------------------------------- text */

void tally_print(struct tally_text *text, const char *fmt, ...)
{
	const size_t room = text->len < text->size ? text->size - text->len : 0;
	va_list args;

	va_start(args, fmt);
	text->len += vsnprintf(room ? text->at + text->len : NULL, room, fmt,
			       args);
	va_end(args);
}

static void print_table(const struct tally_table *t, bool status,
			struct tally_text *text)
{
	unsigned int i;

	for (i = 0; i < t->count; i++) {
		const struct tally_target *ti = &t->targets[i];
		void (*print)(const struct tally_target *ti,
			      struct tally_text *text) =
			status ? ti->type->status : ti->type->args;

		tally_print(text, "%llu %llu %s%s", (u64)ti->start,
			    (u64)ti->length, ti->type->name, print ? " " : "");
		if (print)
			print(ti, text);
		tally_print(text, "\n");
		cond_resched();
	}
}

/*
 * The text of a table, to be freed with kvfree(text->at).  Two rounds: how
 * long, then for good; t must not change between them.
 */
int tally_table_text(const struct tally_table *t, bool status,
		     struct tally_text *text)
{
	*text = (struct tally_text){ };
	print_table(t, status, text);
	text->size = text->len + 1;
	text->at = kvmalloc(text->size, GFP_KERNEL);
	if (!text->at)
		return -ENOMEM;
	text->len = 0;
	print_table(t, status, text);
	return 0;
}
