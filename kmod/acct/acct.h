/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting one I/O: tally_begin() and tally_end().
 *
 * A disk has one mode on each of four axes.  They are read once, at the begin,
 * and latched in the I/O, so that an I/O that ends under other modes than it
 * began with stays balanced (it would be a bug: the modes change only while
 * the disk is quiesced, and tally_end() warns).
 *
 * The bodies are inlined behind compares on the latched modes: per-device
 * choice rules out static keys, and an indirect call would cost more than what
 * is measured.  "none" is one load and one predicted branch.
 *
 * Context: begin runs where ->submit_bio or ->queue_rq runs, end anywhere
 * up to hard interrupt.  Counters are therefore atomic or this_cpu_*.  The
 * kernel's statistics cells are added to as the kernel itself does, which on
 * machines without such an instruction may lose a count to an interrupt.
 */
#ifndef TALLY_ACCT_H
#define TALLY_ACCT_H

#include "platform.h"

enum tally_inflight_mode {
	INFLIGHT_OFF, INFLIGHT_SHARED, INFLIGHT_SPLIT, INFLIGHT_PERCPU,
	INFLIGHT_PERNODE, INFLIGHT_NATIVE, INFLIGHT_MODES
};

enum tally_pending_mode {
	PENDING_OFF, PENDING_SHARED, PENDING_PERCPU, PENDING_MODES
};

enum tally_ticks_mode {
	TICKS_OFF, TICKS_ROUND, TICKS_SAMPLED, TICKS_ELAPSED, TICKS_CHECKED,
	TICKS_EXACT, TICKS_MODES
};

enum tally_clock_mode {
	CLOCK_OFF, CLOCK_JIFFIES, CLOCK_NS, CLOCK_MODES
};

/*
 * One mode per axis; "all" is 0 exactly when every axis is off, and no shadow
 * runs beside them.  The shadow's bit is in the byte of an axis that has the
 * room: tally_modes_axes() before the axes are looked at one by one.
 */
union tally_modes {
	struct {
		u8 inflight;
		u8 pending;
		u8 ticks;
		u8 clock;
	};
	u8 axis[4];
	u32 all;
};

#define TALLY_SHADOW_BIT	0x80	/* in clock */

static __always_inline bool tally_has_shadow(union tally_modes m)
{
	return m.clock & TALLY_SHADOW_BIT;
}

static __always_inline union tally_modes tally_modes_axes(union tally_modes m)
{
	m.clock &= ~TALLY_SHADOW_BIT;
	return m;
}

/* Reads and writes in flight, each in a word of its own. */
struct tally_pair {
	atomic_t n[2];
};

struct tally_node_pair {
	struct tally_pair pair;
} ____cacheline_aligned_in_smp;

/* Busy-time sums, per CPU: written by the winner of a jiffy, read by sums. */
struct tally_busy {
	u64 ticks;		/* jiffies in which the disk was busy */
	u64 queue;		/* jiffies x I/Os in flight; mode round */
};


/* What mode "exact" keeps. */
struct tally_exact {
	raw_spinlock_t lock;	/* irq-safe; protects all of this */
	unsigned int count;	/* I/Os in flight */
	u64 since;		/* ns, when count left zero */
	u64 total;		/* ns busy, up to the last time count fell to 0 */
	u64 mirrored;		/* jiffies that the kernel's cell of the disk got */
	unsigned long settled;	/* the jiffy up to which it did, if not idle */
};

/*
 * What a field showed when the modes last changed, and what its source read
 * then: shown = base + (source - origin), so that nothing goes backwards.
 */
struct tally_carry {
	u64 base;
	u64 origin;
};

struct tally_acct {
	/* Hot and read-mostly: no counter in this line. */
	union tally_modes modes;
	struct block_device *whole;
	struct tally_busy __percpu *busy;
	unsigned long __percpu *pending_cells;
	struct tally_node_pair *nodes;	/* pernode only, nr_node_ids of them */

	/*
	 * As in hd_struct up to 4.20: the stamp, the pair and (where 4.20 stored
	 * DM's pending count over the pair) a scratch word, in one line.
	 */
	struct {
		unsigned long stamp;
		struct tally_pair inflight;
		atomic_t scratch[2];
	} shared ____cacheline_aligned_in_smp;

	/* DM's own counter, in another object and so in another line. */
	struct tally_pair pending ____cacheline_aligned_in_smp;

	struct {
		atomic_t n ____cacheline_aligned_in_smp;
	} split[2];

	struct tally_exact exact ____cacheline_aligned_in_smp;

	/* Counts since the shadow was switched on. */
	struct {
		struct tally_pair pair;
		atomic_t negative;	/* sums below zero that a reader met */
		u64 checks;		/* quiesces at which the two were compared */
		u64 differences;	/* those at which they were not the same */
	} shadow ____cacheline_aligned_in_smp;

	/*
	 * Slow path.  The lock is held for a snapshot and for the swap of the
	 * modes, so that a reader never sees half of a switch, and never waits
	 * for a drain.
	 */
	spinlock_t lock;
	struct tally_carry carry_busy;	/* ms */
	struct tally_carry carry_queue;	/* ms */
	u64 switches;
};

/* What one I/O carries from begin to end. */
struct tally_io {
	union tally_modes modes;
	u16 op;
	u16 node;
	unsigned int sectors;
	unsigned int dir;
	struct block_device *bdev;
	u64 start;		/* jiffies, or ns under CLOCK_NS */
};

#include "inflight.h"
#include "pending.h"
#include "ticks.h"
#include "shadow.h"

/* How long the I/O took, by the clock's resolution. */
static __always_inline u64 tally_took(const struct tally_io *io,
				      union tally_modes m, unsigned long now)
{
	if (m.clock == CLOCK_JIFFIES) {
		const unsigned long took = now - (unsigned long)io->start;

		return unlikely(took) ? jiffies_to_nsecs(took) : 0;
	}
	return ktime_get_ns() - io->start;
}

/* What every kernel generation counts per CPU, on a partition or a disk. */
static __always_inline void
tally_count(struct block_device *bdev, const struct tally_io *io, int group,
	    union tally_modes m, u64 ns)
{
	if (m.inflight) {
		tally_stat_add(bdev, ios[group], 1);
		tally_stat_add(bdev, sectors[group], io->sectors);
	}
	if (m.clock && ns)
		tally_stat_add(bdev, nsecs[group], ns);
}

static __always_inline void
tally_begin_modes(struct tally_acct *a, struct tally_io *io,
		  union tally_modes m, struct block_device *bdev,
		  enum req_op op, unsigned int sectors)
{
	unsigned long now;

	io->bdev = bdev;
	io->op = (__force u16)op;
	io->sectors = sectors;

	if (m.inflight == INFLIGHT_NATIVE) {
		io->start = tally_native_begin(bdev, op, sectors);
		return;
	}

	io->dir = op_is_write(op);
	part_stat_lock();
	now = jiffies;
	if (m.ticks)
		tally_ticks_begin(a, io, m, now);
	tally_inflight_begin(a, io, m, now);
	tally_pending_begin(a, io, m);
	if (m.clock == CLOCK_JIFFIES)
		io->start = now;
	else if (m.clock == CLOCK_NS)
		io->start = ktime_get_ns();
	part_stat_unlock();
}

static __always_inline void
tally_end_modes(struct tally_acct *a, struct tally_io *io, union tally_modes m)
{
	struct block_device *bdev = io->bdev;
	const enum req_op op = (__force enum req_op)io->op;
	unsigned long now;

	if (m.inflight == INFLIGHT_NATIVE) {
		tally_native_end(bdev, op, io->sectors, io->start);
		return;
	}

	part_stat_lock();
	now = jiffies;
	if (m.ticks)
		tally_ticks_end(a, io, m, now);
	if (m.inflight || m.clock) {
		const u64 ns = m.clock ? tally_took(io, m, now) : 0;
		const int group = op_stat_group(op);

		tally_count(bdev, io, group, m, ns);
		if (unlikely(bdev_is_partition(bdev)))
			tally_count(bdev_whole(bdev), io, group, m, ns);
	}
	tally_inflight_end(a, io, m);
	tally_pending_end(a, io, m);
	part_stat_unlock();
}

/*
 * The profiles that are raced against each other are compiled each for itself,
 * so that none pays for the choice between modes that another does not need;
 * every other combination takes the general bodies.
 */
#define ACCT_MODES(i, p, t, c) ((union tally_modes){ {			\
	.inflight = INFLIGHT_##i, .pending = PENDING_##p,		\
	.ticks = TICKS_##t, .clock = CLOCK_##c } })

#define TALLY_COMPILED_MODES(row)					\
	row(ACCT_MODES(PERCPU, OFF, SAMPLED, JIFFIES))	/* linux-5.0 */	\
	row(ACCT_MODES(SHARED, SHARED, ROUND, JIFFIES))/* linux-4.20 */ \
	row(ACCT_MODES(SHARED, OFF, ROUND, JIFFIES))	/* 4.20, no DM */ \
	row(ACCT_MODES(PERCPU, SHARED, SAMPLED, JIFFIES)) /* percpu-v1 */

#define TALLY_BEGIN_AS(modes)						\
	if (m.all == modes.all) {					\
		tally_begin_modes(a, io, modes, bdev, op, sectors);	\
		return;							\
	}
#define TALLY_END_AS(modes)						\
	if (m.all == modes.all) {					\
		tally_end_modes(a, io, modes);				\
		return;							\
	}

/* With the shadow: beside the same bodies that count without it. */
static __maybe_unused noinline __cold void
tally_begin_shadowed(struct tally_acct *a, struct tally_io *io,
		     union tally_modes m, struct block_device *bdev,
		     enum req_op op, unsigned int sectors)
{
	tally_shadow_begin(a, op);
	m = tally_modes_axes(m);
	TALLY_COMPILED_MODES(TALLY_BEGIN_AS)
	tally_begin_modes(a, io, m, bdev, op, sectors);
}

static __maybe_unused noinline __cold void
tally_end_shadowed(struct tally_acct *a, struct tally_io *io,
		   union tally_modes m)
{
	tally_shadow_end(a, (__force enum req_op)io->op);
	m = tally_modes_axes(m);
	TALLY_COMPILED_MODES(TALLY_END_AS)
	tally_end_modes(a, io, m);
}

static __always_inline void
tally_begin_latched(struct tally_acct *a, struct tally_io *io,
		    union tally_modes m, struct block_device *bdev,
		    enum req_op op, unsigned int sectors)
{
	io->modes = m;
	if (!m.all)
		return;
	TALLY_COMPILED_MODES(TALLY_BEGIN_AS)
	if (unlikely(tally_has_shadow(m)))
		tally_begin_shadowed(a, io, m, bdev, op, sectors);
	else
		tally_begin_modes(a, io, m, bdev, op, sectors);
}

/**
 * tally_begin() - an I/O starts
 * @a: accounting of the disk
 * @io: record of the I/O, to be kept until tally_end()
 * @bdev: what it was submitted to, a partition or the whole disk
 * @op: its operation
 * @sectors: its length
 *
 * The disk must not be quiesced before the matching tally_end().
 */
static __always_inline void
tally_begin(struct tally_acct *a, struct tally_io *io,
	    struct block_device *bdev, enum req_op op, unsigned int sectors)
{
	union tally_modes m = { .all = READ_ONCE(a->modes.all) };

	if (m.all && unlikely(!blk_queue_io_stat(bdev_get_queue(bdev))))
		m.all = 0;	/* queue/iostats is 0 */
	tally_begin_latched(a, io, m, bdev, op, sectors);
}

/*
 * tally_begin_request() - the same for a request of blk-mq
 *
 * @counted: the block layer counts it (RQF_IO_STAT), so that we do not.  Under
 * the mode native it is the block layer that counts, if anybody.
 */
static __maybe_unused __always_inline void
tally_begin_request(struct tally_acct *a, struct tally_io *io, bool counted,
		    struct block_device *bdev, enum req_op op,
		    unsigned int sectors)
{
	union tally_modes m = { .all = READ_ONCE(a->modes.all) };

	if (counted || m.inflight == INFLIGHT_NATIVE)
		m.all = 0;
	tally_begin_latched(a, io, m, bdev, op, sectors);
}

/*
 * tally_end() - the I/O of the matching tally_begin() has ended
 *
 * Warns of a switch that let an I/O be in flight, unless nothing counted it.
 */
static __always_inline void
tally_end(struct tally_acct *a, struct tally_io *io)
{
	const union tally_modes m = io->modes;

	if (!m.all)
		return;
	WARN_ON_ONCE(m.all != READ_ONCE(a->modes.all));
	TALLY_COMPILED_MODES(TALLY_END_AS)
	if (unlikely(tally_has_shadow(m)))
		tally_end_shadowed(a, io, m);
	else
		tally_end_modes(a, io, m);
}

#endif /* TALLY_ACCT_H */
