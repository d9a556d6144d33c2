/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of tally_ram. */
#ifndef TALLY_RAM_H
#define TALLY_RAM_H

#include <linux/completion.h>
#include <linux/mempool.h>
#include <linux/xarray.h>

#include "core/tally.h"

enum ram_backing { BACKING_RAM, BACKING_NULL };
enum ram_store_kind { STORE_FLAT, STORE_SPARSE };
enum ram_completion { COMPLETE_INLINE, COMPLETE_SOFTIRQ, COMPLETE_TIMER };

/*
 * Where the bytes are.  flat: one area, allocated up front.  sparse: pages, on
 * first write; looked up and freed under RCU, so that I/O takes no lock.
 */
struct ram_store {
	void *flat;
	struct xarray pages;
	int node;
};

struct ram_softirq;

/**
 * struct tally_ram - a null or RAM disk
 *
 * Quiescing is the queue freeze: the block layer holds q_usage_counter over
 * ->submit_bio, and an I/O that outlives it holds a reference of its own.  So
 * the drain costs an inline disk nothing.
 */
struct tally_ram {
	struct tally_disk td;		/* first: gendisk->private_data */

	/* hot, read-mostly */
	enum ram_completion completion ____cacheline_aligned_in_smp;
	enum ram_backing backing;
	enum ram_store_kind kind;
	u64 completion_ns;
	sector_t sectors;
	struct ram_store store;

	mempool_t *records;		/* struct ram_io; none if inline */
	struct ram_softirq __percpu *softirq;

	int index;			/* N of tramN, tnullN */
	bool removing;			/* under disk->open_mutex */
	struct list_head node;		/* under ram_lock */
};

static inline struct tally_ram *disk_to_ram(struct gendisk *disk)
{
	return container_of((struct tally_disk *)disk->private_data,
			    struct tally_ram, td);
}

/* disk.c */
int tally_ram_create(struct tally_ram_add *req, bool read_only,
		     struct tally_request *rq);
int tally_ram_destroy(struct tally_ram *r, bool force,
		      struct tally_request *rq);
void tally_ram_destroy_all(void);
extern const struct tally_disk_ops tally_ram_disk_ops;

/* bio.c */
void tally_ram_submit(struct bio *bio);

/* store.c */
int ram_store_init(struct ram_store *s, enum ram_store_kind kind, u64 bytes,
		   int node);
void ram_store_exit(struct ram_store *s);
blk_status_t ram_store_copy_sparse(struct ram_store *s, u64 pos, void *buf,
				   unsigned int len, bool write, bool nowait);
blk_status_t ram_store_zero(struct ram_store *s, u64 pos, u64 len);

/* Copy between buf and [pos, pos + len), which is inside the disk. */
static __always_inline blk_status_t
ram_store_copy(struct ram_store *s, u64 pos, void *buf, unsigned int len,
	       bool write, bool nowait)
{
	if (!s->flat)
		return ram_store_copy_sparse(s, pos, buf, len, write, nowait);
	if (write)
		memcpy(s->flat + pos, buf, len);
	else
		memcpy(buf, s->flat + pos, len);
	return BLK_STS_OK;
}

/* complete.c */
int ram_complete_init(struct tally_ram *r, int node);
void ram_complete_exit(struct tally_ram *r);
void ram_submit_async(struct tally_ram *r, struct bio *bio);
void ram_carry_out(struct tally_ram *r, struct bio *bio);

#endif /* TALLY_RAM_H */
