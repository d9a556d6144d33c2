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
 *   percpu   pending_io, one word per CPU: since 5.18 (9f6dc6337610)
 *
 * What DM paid for its drain beside the counter is not modelled: since 5.0
 * (645efa84f6c7) a full barrier at every end, before it looks for a waiter.
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
		this_cpu_inc(*a->pending_cells);
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
		this_cpu_dec(*a->pending_cells);
	}
}

#endif /* TALLY_ACCT_PENDING_H */
