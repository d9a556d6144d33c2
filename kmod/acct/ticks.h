/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Busy time (io_ticks), model by model.  Included by acct.h only.
 *
 *   round    part_round_stats() up to 4.20: at start and end, when the jiffy is
 *            not the stamped one: if anything is in flight add the elapsed
 *            jiffies to busy time, and elapsed x in flight to queue time; then
 *            a plain store of the stamp
 *   sampled  5.0 to 5.6 (5b18b5a73760): when the jiffy is not the stamped one,
 *            the cmpxchg winner adds 1
 *   elapsed  5.7 to 6.9 (2b8bd423614c): the winner adds 1 at a start, the
 *            elapsed jiffies at an end
 *   checked  since 6.10 (99dc422335d8): the winner adds the elapsed jiffies at
 *            an end, and at a start if anything is in flight
 *   exact    count, start and total in ns under a lock: the yardstick
 *
 * A model has one stamp per disk, where each generation had one per partition
 * too: the disk's busy time is right, a partition's counts only the jiffies that
 * its own I/O won.  What a model adds is kept in cells of its own and mirrored
 * into the kernel's io_ticks of the partition and the disk.
 */
#ifndef TALLY_ACCT_TICKS_H
#define TALLY_ACCT_TICKS_H

/*
 * Mirror busy time into one of the kernel's cells.  Under percpu its reader
 * credits the time since bd_stamp by itself, whenever it finds I/O in flight:
 * what is credited here moves the stamp, and what the reader has had already
 * is left out.  Begins keep the stamp only where nothing is in flight, so the
 * two never credit the same time, and lose none of it.
 */
static __always_inline void
tally_mirror(struct block_device *bdev, union tally_modes m,
	     unsigned long jiffs, unsigned long now)
{
	if (m.inflight == INFLIGHT_PERCPU) {
		const unsigned long stamp = READ_ONCE(bdev->bd_stamp);

		if (!time_after(now, stamp))
			return;
		if (cmpxchg(&bdev->bd_stamp, stamp, now) != stamp)
			return;
		jiffs = min(jiffs, now - stamp);
	}
	tally_stat_add(bdev, io_ticks, jiffs);
}

static __always_inline void
tally_busy_add(struct tally_acct *a, struct block_device *bdev,
	       union tally_modes m, unsigned long jiffs, unsigned long now)
{
	this_cpu_add(a->busy->ticks, jiffs);
	tally_mirror(bdev, m, jiffs, now);
	if (bdev_is_partition(bdev))
		tally_mirror(bdev_whole(bdev), m, jiffs, now);
}

/*
 * 4.20 let a CPU whose jiffy was already passed by the stamp subtract; we let
 * it pass.
 */
static __always_inline void
tally_round(struct tally_acct *a, struct block_device *bdev,
	    union tally_modes m, unsigned long now)
{
	const unsigned long stamp = READ_ONCE(a->shared.stamp);
	unsigned int inflight;

	if (likely(!time_after(now, stamp)))
		return;
	inflight = tally_inflight_total(a, m);
	if (inflight) {
		tally_busy_add(a, bdev, m, now - stamp, now);
		this_cpu_add(a->busy->queue, (u64)inflight * (now - stamp));
	}
	WRITE_ONCE(a->shared.stamp, now);
}

/*
 * The winner of the jiffy gets the time since the stamp, the others 0.  The
 * test was "another jiffy" until 5.18, "a later one" since (d80c228d4464).
 */
static __always_inline unsigned long
tally_win(struct tally_acct *a, union tally_modes m, unsigned long now)
{
	const unsigned long stamp = READ_ONCE(a->shared.stamp);

	if (m.ticks == TICKS_CHECKED ? !time_after(now, stamp) : now == stamp)
		return 0;
	if (cmpxchg(&a->shared.stamp, stamp, now) != stamp)
		return 0;
	return now - stamp;
}

static __always_inline void
tally_update_ticks(struct tally_acct *a, struct block_device *bdev,
		   union tally_modes m, unsigned long now, bool end)
{
	const unsigned long elapsed = tally_win(a, m, now);

	if (likely(!elapsed))
		return;
	if (m.ticks == TICKS_SAMPLED || (m.ticks == TICKS_ELAPSED && !end))
		tally_busy_add(a, bdev, m, 1, now);
	else if (end || tally_inflight_total(a, m))
		tally_busy_add(a, bdev, m, elapsed, now);
}

/*
 * Exact: the disk's io_ticks is its busy time in whole jiffies, brought up to
 * date when it falls idle and at the first end in a jiffy.  Under percpu the
 * kernel's readers credit by themselves while I/O is in flight, and move
 * bd_stamp: what lies between there and where we settled last has been had.
 * Returns what the cell got since then, from whomever.
 */
static inline u64 tally_exact_mirror(struct block_device *bdev,
				     union tally_modes m, u64 due,
				     unsigned long settled, unsigned long *now)
{
	unsigned long stamp;
	u64 had = 0;

	if (m.inflight == INFLIGHT_PERCPU) {
		stamp = READ_ONCE(bdev->bd_stamp);
		while (time_after(*now, stamp) &&
		       !try_cmpxchg(&bdev->bd_stamp, &stamp, *now))
			;
		if (time_after(stamp, settled))
			had = stamp - settled;
		if (time_after(stamp, *now))
			*now = stamp;
	}
	if (due <= had)
		return had;
	tally_stat_add(bdev, io_ticks, due - had);
	return due;
}

/* A partition gets, as in the other models, what its own I/O is first to see. */
static inline void tally_exact_settle(struct tally_acct *a,
				      struct block_device *bdev,
				      union tally_modes m, unsigned long now)
{
	struct tally_exact *x = &a->exact;
	const u64 total = x->total + ktime_get_ns() - x->since;
	u64 due = nsecs_to_jiffies64(total);

	/* A reader rounds up: what it took too much of is not due. */
	due -= min(due, x->mirrored);
	if (bdev_is_partition(bdev)) {
		unsigned long at = now;

		tally_exact_mirror(bdev, m, due, x->settled, &at);
	}
	x->mirrored += tally_exact_mirror(a->whole, m, due, x->settled, &now);
	x->settled = now;
	if (!x->count)
		x->total = total;
}

static inline void tally_exact_begin(struct tally_acct *a, union tally_modes m)
{
	struct tally_exact *x = &a->exact;
	unsigned long flags;

	raw_spin_lock_irqsave(&x->lock, flags);
	if (x->count++ == 0) {
		x->since = ktime_get_ns();
		x->settled = jiffies;
		if (m.inflight == INFLIGHT_PERCPU)
			WRITE_ONCE(a->whole->bd_stamp, x->settled);
	}
	raw_spin_unlock_irqrestore(&x->lock, flags);
}

static inline void tally_exact_end(struct tally_acct *a,
				   struct block_device *bdev,
				   union tally_modes m)
{
	struct tally_exact *x = &a->exact;
	unsigned long flags, now;

	raw_spin_lock_irqsave(&x->lock, flags);
	now = jiffies;
	if (--x->count == 0 || time_after(now, x->settled))
		tally_exact_settle(a, bdev, m, now);
	raw_spin_unlock_irqrestore(&x->lock, flags);
}

static __always_inline void
tally_ticks_begin(struct tally_acct *a, struct tally_io *io,
		  union tally_modes m, unsigned long now)
{
	if (m.ticks == TICKS_ROUND)
		tally_round(a, io->bdev, m, now);
	else if (m.ticks == TICKS_EXACT)
		tally_exact_begin(a, m);
	else
		tally_update_ticks(a, io->bdev, m, now, false);
}

static __always_inline void
tally_ticks_end(struct tally_acct *a, struct tally_io *io, union tally_modes m,
		unsigned long now)
{
	if (m.ticks == TICKS_ROUND)
		tally_round(a, io->bdev, m, now);
	else if (m.ticks == TICKS_EXACT)
		tally_exact_end(a, io->bdev, m);
	else
		tally_update_ticks(a, io->bdev, m, now, true);
}

/* The running kernel's reader, for native: as elapsed and checked, on its stamp. */
static inline void tally_native_before_read(struct tally_acct *a)
{
	struct block_device *bdev = a->whole;
	const unsigned long stamp = READ_ONCE(bdev->bd_stamp);
	const unsigned long now = jiffies;

	if (!time_after(now, stamp) ||
	    cmpxchg(&bdev->bd_stamp, stamp, now) != stamp)
		return;
	part_stat_lock();
	part_stat_add(bdev, io_ticks, now - stamp);
	part_stat_unlock();
}

/*
 * What that generation's reader did first: 4.20 rounds; 5.0 to 5.6 did
 * nothing; since 5.18 (86d7331299fd), if anything is in flight, the time since
 * the stamp is credited as at an end.
 */
static inline void tally_ticks_before_read(struct tally_acct *a,
					   union tally_modes m)
{
	unsigned long now;

	part_stat_lock();
	now = jiffies;
	if (m.ticks == TICKS_ROUND)
		tally_round(a, a->whole, m, now);
	else if ((m.ticks == TICKS_ELAPSED || m.ticks == TICKS_CHECKED) &&
		 tally_inflight_total(a, m))
		tally_update_ticks(a, a->whole, m, now, true);
	else if (m.inflight == INFLIGHT_NATIVE && tally_inflight_total(a, m))
		tally_native_before_read(a);
	part_stat_unlock();
}

/* Busy time of our own models so far, in ms; grows in every mode. */
static inline u64 tally_ticks_read(struct tally_acct *a)
{
	struct tally_exact *x = &a->exact;
	unsigned long flags;
	u64 jiffs = 0, ns;
	int cpu;

	for_each_possible_cpu(cpu)
		jiffs += READ_ONCE(per_cpu_ptr(a->busy, cpu)->ticks);

	raw_spin_lock_irqsave(&x->lock, flags);
	ns = x->total;
	if (x->count)
		ns += ktime_get_ns() - x->since;
	raw_spin_unlock_irqrestore(&x->lock, flags);

	return tally_jiffies_to_ms(jiffs) + div_u64(ns, 1000000);
}

static inline u64 tally_queue_read(struct tally_acct *a)
{
	u64 jiffs = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		jiffs += READ_ONCE(per_cpu_ptr(a->busy, cpu)->queue);
	return tally_jiffies_to_ms(jiffs);
}

#endif /* TALLY_ACCT_TICKS_H */
