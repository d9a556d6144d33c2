/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the files of tally_map.
 *
 * Locking, outermost first
 * ------------------------
 * td->switch_lock   (core) one mode switch at a time
 * m->lock           suspend, resume, mode switch: who kills the drain
 *                   reference.  Held while waiting for a drain (killable).
 * tally_topology    which tables hang below which map: m->live and m->inactive
 *                   of all maps change under it.  Held for checks and swaps
 *                   only; never while waiting for I/O, never across open or
 *                   close of a lower disk.
 * m->defer_lock     the lists of bios that wait; irq-safe
 *
 * disk->open_mutex is taken by removal, with none of these held; a resume that
 * raises the block size only tries it.
 * m->live is also read by the I/O path, under a drain reference: it changes
 * only while the map is drained.
 */
#ifndef TALLY_MAP_H
#define TALLY_MAP_H

#include <linux/bio.h>
#include <linux/percpu-refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "map/target.h"

struct tally_lower {
	struct list_head node;
	struct tally_bdev_handle handle;
	struct block_device *bdev;
};

struct tally_table {
	/* hot */
	unsigned int count;
	unsigned int nr_lowers;		/* distinct */
	sector_t size;
	struct tally_target *targets;
	sector_t *ends;			/* end of each target, ascending */
	struct block_device **flat;	/* the distinct lowers */

	/* cold */
	struct list_head lowers;
	bool read_only;
	struct tally_lowers sum;	/* what they come to */
	unsigned int line;		/* being parsed; for reasons */
	struct queue_limits limits;
};

/**
 * struct tally_map - a mapped device
 *
 * Suspend, table swap, mode switch and removal wait on @drain, which no
 * accounting mode can turn off: one reference per original bio, from the gate
 * to after its completion.
 */
struct tally_map {
	struct tally_disk td;		/* first: gendisk->private_data */

	/* hot, read-mostly */
	struct percpu_ref drain ____cacheline_aligned_in_smp;
	struct tally_table *live;
	struct bio_set ios;		/* struct map_io, one per original */
	struct bio_set fragments;	/* struct map_fragment, where split */

	struct mutex lock;
	bool suspended;			/* under lock; hint elsewhere */
	bool gone;			/* under lock: removed, nothing is left */
	wait_queue_head_t drained;

	struct tally_table *inactive;	/* under tally_topology */
	unsigned int events;		/* table swaps; under tally_topology */
	unsigned int segments;		/* of the live table; likewise */

	spinlock_t defer_lock;
	struct bio_list deferred;	/* until resumed */
	struct bio_list waited;		/* let go, to be submitted */
	struct list_head more;		/* map_io that need memory, or a stage */
	bool dead;			/* deferred I/O fails */
	struct workqueue_struct *wq;
	struct work_struct work;

	unsigned int mark;		/* under tally_topology: walked already, */
	int depth;			/* and this is what came out */
	int index;			/* N of tmapN */
	bool removing;			/* under disk->open_mutex */
	struct list_head node;		/* under tally_topology */
};

static inline struct tally_map *disk_to_map(struct gendisk *disk)
{
	return container_of((struct tally_disk *)disk->private_data,
			    struct tally_map, td);
}

extern struct mutex tally_topology;

/* io.c */
void tally_map_submit(struct bio *bio);
void tally_map_work(struct work_struct *work);
int tally_map_biosets_init(struct tally_map *m);
void tally_map_biosets_exit(struct tally_map *m);

/* map.c */
extern const struct tally_disk_ops tally_map_disk_ops;
int tally_map_create(struct tally_map_create *req, bool read_only,
		     struct tally_request *rq);
int tally_map_load(struct tally_map *m, struct tally_table *t,
		   struct tally_request *rq);
int tally_map_suspend(struct tally_map *m);
int tally_map_resume(struct tally_map *m, struct tally_request *rq);
void tally_map_clear(struct tally_map *m);
int tally_map_remove(struct tally_map *m, struct tally_request *rq);
void tally_map_wait_freed(void);
bool tally_bdev_is_map(struct block_device *bdev);

/* table.c */
struct tally_table *tally_table_parse(const char *text, size_t len,
				      bool read_only,
				      struct tally_request *rq);
int tally_table_recheck(struct tally_table *t, struct tally_request *rq);
void tally_table_free(struct tally_table *t);

/* limits.c */
int tally_table_limits(struct tally_table *t, struct tally_request *rq);

/* Words in reasons: escaped, and not endless. */
#define SHOWN	40
#define SHOW(word)	(int)min_t(unsigned int, (word)->len, SHOWN), (word)->at

/* Text that grows: tables and their status. */
struct tally_text {
	char *at;
	size_t len;		/* what it takes, also beyond size */
	size_t size;
};
int tally_table_text(const struct tally_table *t, bool status,
		     struct tally_text *text);

extern const struct tally_command tally_map_rows[];
extern const unsigned int tally_map_row_count;

/*
 * The segment of a sector that is inside the table: the first whose end lies
 * beyond it.
 */
static inline struct tally_target *tally_table_find(struct tally_table *t,
						    sector_t sector)
{
	unsigned int low = 0, high = t->count - 1;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (t->ends[mid] > sector)
			high = mid;
		else
			low = mid + 1;
	}
	return &t->targets[low];
}

#endif /* TALLY_MAP_H */
