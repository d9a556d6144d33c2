/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that the counting core (acct.h, inflight.h, pending.h, ticks.h)
 * sees of a kernel.  In user space the same names come from shim.h, which the
 * tests bring along, so that one source is counted, replayed and raced there.
 */
#ifndef TALLY_ACCT_PLATFORM_H
#define TALLY_ACCT_PLATFORM_H

#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/cache.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/part_stat.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include <linux/math64.h>

#include "compat.h"

/*
 * A kernel in-flight cell of this CPU.  local_inc() on the same word, but in one
 * instruction where the machine has one: safe against interrupts all the same.
 */
#define tally_cell_add(bdev, dir, n)					\
	this_cpu_add((bdev)->bd_stats->in_flight[dir].a.counter, n)

/* A kernel statistics field of this CPU; under part_stat_lock(). */
#define tally_stat_add(bdev, field, n)	__part_stat_add(bdev, field, n)

/*
 * A kernel statistics field, all CPUs.  part_stat_read() with marked loads:
 * the other CPUs go on counting while we add up.
 */
#define tally_stat_read(bdev, field) ({					\
	typeof((bdev)->bd_stats->field) sum_ = 0;			\
	int cpu_;							\
									\
	for_each_possible_cpu(cpu_)					\
		sum_ += READ_ONCE(per_cpu_ptr((bdev)->bd_stats,		\
					      cpu_)->field);		\
	sum_;								\
})

/* jiffies_to_msecs() is 32 bits wide; sums are not. */
static inline u64 tally_jiffies_to_ms(u64 jiffs)
{
	return div_u64(jiffs * (u64)jiffies_to_nsecs(1), NSEC_PER_MSEC);
}
#else
#include "shim.h"
#endif

#endif /* TALLY_ACCT_PLATFORM_H */
