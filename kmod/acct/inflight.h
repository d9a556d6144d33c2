/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The in-flight counter, mode by mode: the begin and the end body, and how the
 * mode is read.  Included by acct.h only.
 *
 *   shared   two atomic_t in one line: part->in_flight[2] up to 4.20
 *   split    the same two in lines of their own
 *   percpu   local_t pair per CPU, the kernel's own cells: since 5.0
 *            (1226b8dd0e91); an I/O to a partition counts there and on the
 *            whole disk
 *   pernode  a padded atomic pair per NUMA node, that of the begin
 *   native   the running kernel's accounting, see acct.h
 */
#ifndef TALLY_ACCT_INFLIGHT_H
#define TALLY_ACCT_INFLIGHT_H

/*
 * Reading per-CPU cells.  A single one goes negative (an I/O may begin here and
 * end there): only the signed sum over all possible CPUs means anything, clamped
 * once, after the sum.
 */
static inline int tally_percpu_sum(struct block_device *bdev, int dir)
{
	int cpu, sum = 0;

	for_each_possible_cpu(cpu)
		sum += (int)part_stat_local_read_cpu(bdev, in_flight[dir], cpu);
	return sum;
}

/* Whether the kernel's cells of the disk and of each partition hold nothing. */
static inline bool tally_parts_idle(struct block_device *whole)
{
	struct block_device *part;
	unsigned long nr;
	bool idle = true;

	rcu_read_lock();
	tally_for_each_part(whole, nr, part)
		idle &= !tally_percpu_sum(part, 0) && !tally_percpu_sum(part, 1);
	rcu_read_unlock();
	return idle;
}

static inline int tally_native_inflight(struct block_device *whole, int dir)
{
	struct block_device *part;
	unsigned long nr;
	int sum = 0;

	if (TALLY_NATIVE_ON_WHOLE)
		return tally_percpu_sum(whole, dir);
	rcu_read_lock();
	tally_for_each_part(whole, nr, part)
		sum += tally_percpu_sum(part, dir);
	rcu_read_unlock();
	return sum;
}

/*
 * The kernel's readers add to io_ticks the time since bd_stamp while its
 * in-flight cells are not zero.  Who counts in those cells must therefore keep
 * the stamp: with a stale one, a single read of /sys/block/D/stat credits all
 * the time since boot.
 *
 * A busy period is stamped when it begins; within it, the stamp moves with what
 * is credited (tally_mirror()).  Without a model nothing is, and every begin
 * stamps.  The sum is taken when the jiffy is another, and not more often: the
 * first to be credited in a jiffy has moved the stamp.  Exact knows when the
 * disk's periods begin, and stamps them itself.
 */
static __maybe_unused noinline __cold void
tally_stamp_slow(struct block_device *bdev, union tally_modes m,
		 unsigned long now)
{
	if (m.ticks == TICKS_EXACT && !bdev_is_partition(bdev))
		return;
	if (m.ticks == TICKS_OFF ||
	    tally_percpu_sum(bdev, 0) + tally_percpu_sum(bdev, 1) <= 0)
		WRITE_ONCE(bdev->bd_stamp, now);
}

static __always_inline void
tally_stamp(struct block_device *bdev, union tally_modes m, unsigned long now)
{
	if (unlikely(READ_ONCE(bdev->bd_stamp) != now))
		tally_stamp_slow(bdev, m, now);
}

static __always_inline void
tally_percpu_begin(struct block_device *bdev, unsigned int dir,
		   union tally_modes m, unsigned long now)
{
	tally_stamp(bdev, m, now);
	tally_cell_add(bdev, dir, 1);
	if (unlikely(bdev_is_partition(bdev))) {
		tally_stamp(bdev_whole(bdev), m, now);
		tally_cell_add(bdev_whole(bdev), dir, 1);
	}
}

static __always_inline void
tally_percpu_end(struct block_device *bdev, unsigned int dir)
{
	tally_cell_add(bdev, dir, -1);
	if (unlikely(bdev_is_partition(bdev)))
		tally_cell_add(bdev_whole(bdev), dir, -1);
}

static __always_inline void
tally_inflight_begin(struct tally_acct *a, struct tally_io *io,
		     union tally_modes m, unsigned long now)
{
	if (m.inflight == INFLIGHT_PERCPU) {
		tally_percpu_begin(io->bdev, io->dir, m, now);
	} else if (m.inflight == INFLIGHT_SHARED) {
		atomic_inc(&a->shared.inflight.n[io->dir]);
	} else if (m.inflight == INFLIGHT_SPLIT) {
		atomic_inc(&a->split[io->dir].n);
	} else if (m.inflight == INFLIGHT_PERNODE) {
		io->node = numa_node_id();
		atomic_inc(&a->nodes[io->node].pair.n[io->dir]);
	}
}

static __always_inline void
tally_inflight_end(struct tally_acct *a, struct tally_io *io,
		   union tally_modes m)
{
	if (m.inflight == INFLIGHT_PERCPU)
		tally_percpu_end(io->bdev, io->dir);
	else if (m.inflight == INFLIGHT_SHARED)
		atomic_dec(&a->shared.inflight.n[io->dir]);
	else if (m.inflight == INFLIGHT_SPLIT)
		atomic_dec(&a->split[io->dir].n);
	else if (m.inflight == INFLIGHT_PERNODE)
		atomic_dec(&a->nodes[io->node].pair.n[io->dir]);
}

static inline int tally_inflight_one(struct tally_acct *a, union tally_modes m,
				     int dir)
{
	int node, sum = 0;

	switch (m.inflight) {
	case INFLIGHT_SHARED:
		return atomic_read(&a->shared.inflight.n[dir]);
	case INFLIGHT_SPLIT:
		return atomic_read(&a->split[dir].n);
	case INFLIGHT_PERCPU:
		return tally_percpu_sum(a->whole, dir);
	case INFLIGHT_NATIVE:
		return tally_native_inflight(a->whole, dir);
	case INFLIGHT_PERNODE:
		for (node = 0; node < nr_node_ids; node++)
			sum += atomic_read(&a->nodes[node].pair.n[dir]);
		return sum;
	}
	return 0;
}

static inline void tally_inflight_read(struct tally_acct *a,
				       union tally_modes m,
				       unsigned int inflight[2])
{
	int dir;

	for (dir = 0; dir < 2; dir++) {
		int n = tally_inflight_one(a, m, dir);
		inflight[dir] = n > 0 ? n : 0;
	}
}

static inline unsigned int tally_inflight_total(struct tally_acct *a,
						union tally_modes m)
{
	unsigned int n[2];

	tally_inflight_read(a, m, n);
	return n[0] + n[1];
}

#endif /* TALLY_ACCT_INFLIGHT_H */
