/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shadow: the "shared" counter beside whatever mode was chosen.  Whenever
 * the disk is quiesced the two must agree, on nothing in flight, and so must
 * whatever else an end takes back.  A sum below zero that a reader of per-CPU
 * cells met is counted.  The debug patch that c007062188d8 came out of, as a
 * feature.  Included by acct.h only.
 */
#ifndef TALLY_ACCT_SHADOW_H
#define TALLY_ACCT_SHADOW_H

static __always_inline void tally_shadow_begin(struct tally_acct *a,
					       enum req_op op)
{
	atomic_inc(&a->shadow.pair.n[op_is_write(op)]);
}

static __always_inline void tally_shadow_end(struct tally_acct *a,
					     enum req_op op)
{
	atomic_dec(&a->shadow.pair.n[op_is_write(op)]);
}

/* As tally_inflight_read(). */
static inline void tally_shadow_read(struct tally_acct *a, union tally_modes m,
				     unsigned int inflight[2])
{
	int dir;

	for (dir = 0; dir < 2; dir++) {
		int n = tally_inflight_one(a, m, dir);

		if (n < 0)
			atomic_inc(&a->shadow.negative);
		inflight[dir] = n > 0 ? n : 0;
	}
}

/* Each counter that an end takes back, of any mode. */
static inline bool tally_all_taken_back(struct tally_acct *a)
{
	unsigned long cells = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		cells += READ_ONCE(*per_cpu_ptr(a->pending_cells, cpu));
	return !cells && !atomic_read(&a->pending.n[0]) &&
	       !atomic_read(&a->pending.n[1]) && !a->exact.count &&
	       tally_parts_idle(a->whole);
}

/* Nothing is between begin and end.  The caller keeps others like it out. */
static inline void tally_shadow_check(struct tally_acct *a)
{
	const union tally_modes m = a->modes;
	bool agree;
	int dir;

	if (!tally_has_shadow(m))
		return;
	agree = tally_all_taken_back(a);
	for (dir = 0; dir < 2; dir++)
		agree &= !atomic_read(&a->shadow.pair.n[dir]) &&
			 !tally_inflight_one(a, m, dir);
	WRITE_ONCE(a->shadow.checks, a->shadow.checks + 1);
	if (!agree)
		WRITE_ONCE(a->shadow.differences, a->shadow.differences + 1);
}

#endif /* TALLY_ACCT_SHADOW_H */
