// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each mode compiles to: a function for the begin and one for the end,
 * with constant modes, so that nothing but the mode's own body is left in it.
 * tests/perf/bodies.py counts their instructions.
 *
 * An axis' mode stands alone, the other axes off, but for the busy-time models
 * that ask what is in flight: those go with inflight=percpu.
 */
#include "acct/acct.h"

#define BODY(name, i, p, t, c)						\
static const union tally_modes modes_##name = { {			\
	.inflight = INFLIGHT_##i, .pending = PENDING_##p,		\
	.ticks = TICKS_##t, .clock = CLOCK_##c } };			\
									\
void begin_##name(struct tally_acct *a, struct tally_io *io,		\
		  struct block_device *bdev, enum req_op op,		\
		  unsigned int sectors);				\
noinline void begin_##name(struct tally_acct *a, struct tally_io *io,	\
			   struct block_device *bdev, enum req_op op,	\
			   unsigned int sectors)			\
{									\
	tally_begin_modes(a, io, modes_##name, bdev, op, sectors);	\
}									\
									\
void end_##name(struct tally_acct *a, struct tally_io *io);		\
noinline void end_##name(struct tally_acct *a, struct tally_io *io)	\
{									\
	tally_end_modes(a, io, modes_##name);				\
}

BODY(inflight_off,	OFF,	 OFF,	 OFF,	  OFF)
BODY(inflight_shared,	SHARED,	 OFF,	 OFF,	  OFF)
BODY(inflight_split,	SPLIT,	 OFF,	 OFF,	  OFF)
BODY(inflight_percpu,	PERCPU,	 OFF,	 OFF,	  OFF)
BODY(inflight_pernode,	PERNODE, OFF,	 OFF,	  OFF)
BODY(inflight_native,	NATIVE,	 OFF,	 OFF,	  OFF)

BODY(pending_shared,	OFF,	 SHARED, OFF,	  OFF)
BODY(pending_percpu,	OFF,	 PERCPU, OFF,	  OFF)

BODY(ticks_round,	PERCPU,	 OFF,	 ROUND,	  OFF)
BODY(ticks_sampled,	OFF,	 OFF,	 SAMPLED, OFF)
BODY(ticks_elapsed,	OFF,	 OFF,	 ELAPSED, OFF)
BODY(ticks_checked,	PERCPU,	 OFF,	 CHECKED, OFF)
BODY(ticks_exact,	OFF,	 OFF,	 EXACT,	  OFF)

/* Times are counted with I/Os only, so not without an in-flight counter. */
BODY(clock_jiffies,	PERCPU,	 OFF,	 OFF,	  JIFFIES)
BODY(clock_ns,		PERCPU,	 OFF,	 OFF,	  NS)

/* kmod/acct/modes.c; bodies.py holds these to that table. */
BODY(profile_linux_4_20, SHARED, SHARED, ROUND,	  JIFFIES)
BODY(profile_percpu_v1,	PERCPU,	 SHARED, SAMPLED, JIFFIES)
BODY(profile_linux_5_0,	PERCPU,	 OFF,	 SAMPLED, JIFFIES)
BODY(profile_linux_5_18, PERCPU, PERCPU, ELAPSED, JIFFIES)
BODY(profile_linux_6_10, PERCPU, PERCPU, CHECKED, JIFFIES)
BODY(profile_native,	NATIVE,	 OFF,	 OFF,	  OFF)
