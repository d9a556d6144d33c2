/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of tally_ram. */
#ifndef TALLY_RAM_H
#define TALLY_RAM_H

#include <linux/bio.h>
#include <linux/mempool.h>
#include <linux/xarray.h>

#include "core/tally.h"

enum ram_backing { BACKING_RAM, BACKING_NULL };
enum ram_store_kind { STORE_FLAT, STORE_SPARSE };
enum ram_queue { QUEUE_BIO, QUEUE_MQ };
enum ram_completion { COMPLETE_INLINE, COMPLETE_SOFTIRQ, COMPLETE_TIMER };
enum ram_jitter { JITTER_NONE, JITTER_UNIFORM, JITTER_EXPONENTIAL };

/* A request that has not ended by then is late.  Delays and caps end sooner. */
#define RAM_TIMEOUT	(30 * HZ)

#define RAM_SHARDS	16

/* Every sixteenth leaf of the tree of pages, with a lock of its own. */
struct ram_shard {
	struct xarray pages;
} ____cacheline_aligned_in_smp;

/*
 * Where the bytes are.  flat: one area, allocated up front.  sparse: pages, on
 * first write; looked up and freed under RCU, so that only what changes the
 * tree takes a lock.
 */
struct ram_store {
	void *flat;
	struct ram_shard *shards;
	int node;
};

struct ram_softirq;
struct ram_tags;

/* The shape of a disk's request queues; compared byte by byte. */
struct ram_queues {
	u32 submit;
	u32 poll;
	u32 depth;
	s32 node;
	u32 flags;			/* TALLY_RAM_MQ_* */
};

#define RAM_BANDWIDTH_MIN	65536
#define RAM_BANDWIDTH_MAX	(1ULL << 40)

/* Caps; see cap.c. */
struct ram_cap {
	u64 ns_per_io;			/* what they come to */
	u64 ns_per_byte;		/* fixed point */
	atomic64_t busy_until;		/* ns of ktime_get() */
	u64 iops;			/* as they were set; 0: none */
	u64 bandwidth;			/* bytes a second */
};

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
	enum ram_completion ends ____cacheline_aligned_in_smp; /* timer while capped */
	enum ram_completion completion;	/* as it was asked for */
	enum ram_backing backing;
	enum ram_store_kind kind;
	enum ram_jitter jitter;
	u64 completion_ns;
	u64 jitter_ns;
	sector_t sectors;
	struct ram_store store;

	mempool_t *records;		/* struct ram_io; bios, not if inline */
	struct ram_softirq __percpu *softirq;

	struct ram_cap cap;

	enum ram_queue queue;
	struct ram_queues queues;	/* of blk-mq, and below */
	struct ram_tags *tags;
	struct tally_iostats iostats;	/* while it is quiesced, and below */
	bool changes_iostats;

	int index;			/* N of tramN, tnullN */
	bool removing;			/* set under disk->open_mutex */
	struct list_head node;		/* under ram_lock */
};

static inline struct tally_ram *td_to_ram(struct tally_disk *td)
{
	return container_of(td, struct tally_ram, td);
}

static inline struct tally_ram *disk_to_ram(struct gendisk *disk)
{
	return td_to_ram(disk->private_data);
}

/* May what carries out an I/O of this disk sleep? */
static inline bool ram_may_sleep(const struct tally_ram *r)
{
	return r->queue == QUEUE_BIO ||
	       r->queues.flags & TALLY_RAM_MQ_BLOCKING;
}

/* disk.c */
int ram_set_ends(struct tally_ram *r);
int tally_ram_create(struct tally_ram_add *req, u32 flags,
		     struct tally_request *rq);
int tally_ram_destroy(struct tally_ram *r, bool force,
		      struct tally_request *rq);
void tally_ram_destroy_all(void);
int ram_resize(struct tally_ram *r, sector_t sectors, struct tally_request *rq);

/* options.c */
int ram_set_delay(struct tally_ram *r, u64 completion_ns, u64 jitter_ns,
		  struct tally_request *rq);
int ram_check_sectors(u64 sectors, unsigned int block_size,
		      struct tally_request *rq);
int ram_options(struct tally_ram_add *req, u32 flags, struct tally_ram *r,
		struct tally_request *rq);
void ram_describe(const struct tally_ram *r, char *text, size_t size);
const char *ram_backing_name(const struct tally_ram *r);

/* settings.c */
#define RAM_SETTINGS_LEN	512
extern const struct attribute_group ram_settings_group;
int ram_setting_set(struct tally_ram *r, const char *name, const char *value,
		    struct tally_request *rq);
int ram_settings_text(const struct tally_ram *r, char *text, size_t size);

/* bio.c */
void tally_ram_submit(struct bio *bio);

/* mq.c */
int ram_mq_init(struct tally_ram *r);
void ram_mq_exit(struct tally_ram *r);
struct gendisk *ram_mq_alloc_disk(struct tally_ram *r,
				  const struct tally_shape *shape);
void ram_mq_reap(struct tally_ram *r);
void ram_mq_wait_dispatch(struct tally_ram *r);
void ram_mq_inflight(struct tally_disk *td, unsigned int inflight[2]);

/* transfer.c */
blk_status_t ram_transfer_none(struct tally_ram *r, enum req_op op,
			       sector_t sector, sector_t sectors, bool nowait);

/* store.c */
int ram_store_init(struct ram_store *s, enum ram_store_kind kind, u64 bytes,
		   int node);
void ram_store_exit(struct ram_store *s);
blk_status_t ram_store_copy_sparse(struct ram_store *s, u64 pos, void *buf,
				   unsigned int len, bool write, bool nowait);
blk_status_t ram_store_zero(struct ram_store *s, u64 pos, u64 len,
			    bool may_sleep);

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

/* The data of a bio; may sleep for a page of a sparse store unless @nowait. */
static __always_inline blk_status_t
ram_copy_bio(struct tally_ram *r, struct bio *bio, bool write, bool nowait)
{
	u64 pos = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_bvec(bv, bio, iter) {
		blk_status_t status = ram_store_copy(&r->store, pos,
						     bvec_virt(&bv), bv.bv_len,
						     write, nowait);

		if (unlikely(status))
			return status;
		pos += bv.bv_len;
	}
	return BLK_STS_OK;
}

/* What a null disk is for. */
static __always_inline bool
ram_moves_nothing(const struct tally_ram *r, enum req_op op)
{
	return r->backing == BACKING_NULL &&
	       (op == REQ_OP_READ || op == REQ_OP_WRITE);
}

/* cap.c */
u64 ram_cap_delay(struct tally_ram *r, unsigned int bytes);
int ram_cap_iops(struct tally_ram *r, u64 iops, struct tally_request *rq);
int ram_cap_bandwidth(struct tally_ram *r, u64 bytes, struct tally_request *rq);

/* delay.c */
#define RAM_EXPONENTIAL_MAX	16	/* a delay, in times of its mean */
u64 ram_delay(struct tally_ram *r, unsigned int bytes);

/* complete.c */
int ram_complete_init(struct tally_ram *r);
int ram_records_init(struct tally_ram *r);
void ram_complete_exit(struct tally_ram *r);
void ram_submit_async(struct tally_ram *r, struct bio *bio);
void ram_carry_out(struct tally_ram *r, struct bio *bio);

#endif /* TALLY_RAM_H */
