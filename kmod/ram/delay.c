// SPDX-License-Identifier: GPL-2.0-only
/* How long after its submission an I/O ends, with completion=timer or a cap. */
#include <linux/math64.h>
#include <linux/random.h>

#include "ram/ram.h"

#define FRACTION_BITS	16
#define LN_2		45426		/* ln 2 in units of 1 / 2^16 */

/*
 * -ln(u / 2^32) in units of 1 / 2^16, for u > 0: the exponent, and for the
 * mantissa m in [1, 2) log2(m) as (m - 1) + 0.3431 (m - 1)(2 - m), which is
 * never more than 0.009 away from it.
 */
static u32 minus_ln(u32 u)
{
	const int exponent = fls(u) - 1;
	const u32 f = (u32)(((u64)u << FRACTION_BITS) >> exponent) &
		      ((1U << FRACTION_BITS) - 1);
	const u64 bow = ((u64)f * ((1U << FRACTION_BITS) - f)) >> FRACTION_BITS;
	const u64 log2 = ((u64)exponent << FRACTION_BITS) + f +
			 ((bow * 22485) >> FRACTION_BITS);
	const u64 whole = 32ULL << FRACTION_BITS;

	return log2 >= whole ? 0 : ((whole - log2) * LN_2) >> FRACTION_BITS;
}

static u64 exponential(u64 mean)
{
	const u64 most = mean * RAM_EXPONENTIAL_MAX;

	return min(mul_u64_u32_shr(mean, minus_ln(get_random_u32() | 1),
				   FRACTION_BITS), most);
}

/* As the options are checked, at most TALLY_COMPLETION_NS_MAX. */
static u64 timer_delay(const struct tally_ram *r)
{
	const u64 ns = READ_ONCE(r->completion_ns);
	const u64 jitter = READ_ONCE(r->jitter_ns);

	if (r->jitter == JITTER_EXPONENTIAL)
		return ns + exponential(jitter);
	if (r->jitter == JITTER_NONE)
		return ns;
	/* Where the two are changed meanwhile, the jitter may be the larger. */
	return max(ns + mul_u64_u32_shr(2 * jitter, get_random_u32(), 32),
		   jitter) - jitter;
}

/*
 * How long from now until an I/O with so many bytes of data may end, in ns; 0:
 * at once.
 */
u64 ram_delay(struct tally_ram *r, unsigned int bytes)
{
	return max(r->completion == COMPLETE_TIMER ? timer_delay(r) : 0,
		   ram_cap_delay(r, bytes));
}
