/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking and putting the drain reference of one bio.
 *
 * percpu_ref guards its per-CPU mode with RCU.  On kernels with preemptible RCU
 * the calls to __rcu_read_lock() and __rcu_read_unlock() cost more than the
 * count itself; a region with preemption off is an RCU reader just as well
 * (the flavours are one since 5.0), and is two instructions.  Whatever is not
 * the fast path is left to percpu_ref.
 */
#ifndef TALLY_MAP_DRAIN_H
#define TALLY_MAP_DRAIN_H

#include <linux/percpu-refcount.h>

static __always_inline bool drain_tryget(struct percpu_ref *ref)
{
	unsigned long __percpu *count;

	preempt_disable();
	if (likely(__ref_is_percpu(ref, &count))) {
		this_cpu_inc(*count);
		preempt_enable();
		/*
		 * What was changed while drained is seen after this: pairs with
		 * the barrier in drain_open().  The slow path is ordered by itself.
		 */
		smp_rmb();
		return true;
	}
	preempt_enable();
	return percpu_ref_tryget_live(ref);
}

/* May be the last touch of what ref is in. */
static __always_inline void drain_put(struct percpu_ref *ref)
{
	unsigned long __percpu *count;

	preempt_disable();
	if (likely(__ref_is_percpu(ref, &count))) {
		this_cpu_dec(*count);
		preempt_enable();
		return;
	}
	preempt_enable();
	percpu_ref_put(ref);
}

/*
 * Whether the last reference of a killed ref is gone.  What was done under the
 * references is seen then: pairs with the barrier of the last put, or with the
 * grace period that came before it.
 */
static inline bool drain_is_empty(struct percpu_ref *ref)
{
	if (!percpu_ref_is_zero(ref))
		return false;
	smp_acquire__after_ctrl_dep();
	return true;
}

/* What was changed while drained is seen by whoever gets a reference. */
static inline void drain_open(struct percpu_ref *ref)
{
	smp_mb();	/* pairs with the one in drain_tryget() */
	percpu_ref_resurrect(ref);
}

#endif /* TALLY_MAP_DRAIN_H */
