/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DM's second counter.  It models a cost; nothing here drains on it.
 * Included by acct.h only.
 *
 *   shared   up to 4.20 start_io_acct() did
 *            atomic_set(&part0.in_flight[rw], atomic_inc_return(&pending[rw]))
 *            and end_io_acct() the same with a decrement, then read the other
 *            direction to see whether to wake a waiter.  The store raced with
 *            the counter and could leave an idle disk at 1 (80a787ba3809): with
 *            inflight=shared it goes to a scratch word of the same line.
 *   percpu   pending_io, a per-CPU pair: since 5.18 (9f6dc6337610)
 */
#ifndef TALLY_ACCT_PENDING_H
#define TALLY_ACCT_PENDING_H

static __always_inline void
tally_pending_begin(struct tally_acct *a, struct tally_io *io,
		    union tally_modes m)
{
	if (m.pending == PENDING_SHARED) {
		int n = atomic_inc_return(&a->pending.n[io->dir]);

		if (m.inflight == INFLIGHT_SHARED)
			atomic_set(&a->shared.scratch[io->dir], n);
	} else if (m.pending == PENDING_PERCPU) {
		local_inc(this_cpu_ptr(&a->pending_cells->n[io->dir]));
	}
}

static __always_inline void
tally_pending_end(struct tally_acct *a, struct tally_io *io,
		  union tally_modes m)
{
	if (m.pending == PENDING_SHARED) {
		int n = atomic_dec_return(&a->pending.n[io->dir]);

		if (m.inflight == INFLIGHT_SHARED)
			atomic_set(&a->shared.scratch[io->dir], n);
		n += atomic_read(&a->pending.n[io->dir ^ 1]);
		/* Where DM woke its waiter, we only keep the test's cost. */
		if (!n)
			barrier();
	} else if (m.pending == PENDING_PERCPU) {
		local_dec(this_cpu_ptr(&a->pending_cells->n[io->dir]));
	}
}

static inline int tally_pending_read(struct tally_acct *a, union tally_modes m)
{
	int cpu, sum = 0;

	if (m.pending == PENDING_SHARED)
		return atomic_read(&a->pending.n[0]) +
		       atomic_read(&a->pending.n[1]);
	if (m.pending == PENDING_PERCPU)
		for_each_possible_cpu(cpu) {
			struct tally_pending *p =
				per_cpu_ptr(a->pending_cells, cpu);

			sum += (int)local_read(&p->n[0]) +
			       (int)local_read(&p->n[1]);
		}
	return sum > 0 ? sum : 0;
}

#endif /* TALLY_ACCT_PENDING_H */
