// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of modes and profiles, and the rules for combining them.  A new
 * mode is a row here, a number in acct.h, and a body in the header of its axis.
 */
#include <linux/string.h>

#include "core/internal.h"

const char *const tally_axis_names[TALLY_AXES] = {
	[TALLY_AXIS_INFLIGHT]	= "inflight",
	[TALLY_AXIS_PENDING]	= "pending",
	[TALLY_AXIS_TICKS]	= "ticks",
	[TALLY_AXIS_CLOCK]	= "clock",
};

static const struct tally_mode inflight_modes[INFLIGHT_MODES] = {
	[INFLIGHT_OFF]	   = { "off", "nothing is counted" },
	[INFLIGHT_SHARED]  = { "shared", "two atomics in one cache line, as up to 4.20" },
	[INFLIGHT_SPLIT]   = { "split", "the same two atomics in lines of their own" },
	[INFLIGHT_PERCPU]  = { "percpu", "a pair per CPU, the kernel's own cells, as since 5.0" },
	[INFLIGHT_PERNODE] = { "pernode", "a padded pair of atomics per NUMA node" },
	[INFLIGHT_NATIVE]  = { "native", "the running kernel's own accounting" },
};

static const struct tally_mode pending_modes[PENDING_MODES] = {
	[PENDING_OFF]	 = { "off", "no second counter, as in 5.0" },
	[PENDING_SHARED] = { "shared", "atomic_inc_return and atomic_dec_return, as up to 4.20" },
	[PENDING_PERCPU] = { "percpu", "a counter per CPU, as since 5.18" },
};

static const struct tally_mode ticks_modes[TICKS_MODES] = {
	[TICKS_OFF]	= { "off", "no busy time" },
	[TICKS_ROUND]	= { "round", "part_round_stats, up to 4.20" },
	[TICKS_SAMPLED]	= { "sampled", "one per jiffy seen, 5.0 to 5.6" },
	[TICKS_ELAPSED]	= { "elapsed", "one at a start, elapsed at an end, 5.7 to 6.9" },
	[TICKS_CHECKED]	= { "checked", "elapsed, at a start only if in flight, since 6.10" },
	[TICKS_EXACT]	= { "exact", "ns under a lock; the yardstick" },
};

static const struct tally_mode clock_modes[CLOCK_MODES] = {
	[CLOCK_OFF]	= { "off", "no times per I/O" },
	[CLOCK_JIFFIES]	= { "jiffies", "start stamp in jiffies" },
	[CLOCK_NS]	= { "ns", "start stamp in ns" },
};

static const struct {
	const struct tally_mode *modes;
	unsigned int count;
} axes[TALLY_AXES] = {
	[TALLY_AXIS_INFLIGHT]	= { inflight_modes, INFLIGHT_MODES },
	[TALLY_AXIS_PENDING]	= { pending_modes, PENDING_MODES },
	[TALLY_AXIS_TICKS]	= { ticks_modes, TICKS_MODES },
	[TALLY_AXIS_CLOCK]	= { clock_modes, CLOCK_MODES },
};

/* As ACCT_MODES, but as an initializer. */
#define MODES(i, p, t, c) { {						\
	.inflight = INFLIGHT_##i, .pending = PENDING_##p,		\
	.ticks = TICKS_##t, .clock = CLOCK_##c } }

const struct tally_profile tally_profiles[] = {
	{ "none",	MODES(OFF, OFF, OFF, OFF),
	  "no accounting at all" },
	{ "linux-4.20",	MODES(SHARED, SHARED, ROUND, JIFFIES),
	  "up to 4.20: shared atomics, DM's pending counter, rounded busy time" },
	{ "percpu-v1",	MODES(PERCPU, SHARED, SAMPLED, JIFFIES),
	  "first half of the 2018 series: per-CPU in-flight, pending still shared" },
	{ "linux-5.0",	MODES(PERCPU, OFF, SAMPLED, JIFFIES),
	  "5.0: per-CPU in-flight, pending removed, sampled busy time" },
	{ "linux-5.18",	MODES(PERCPU, PERCPU, ELAPSED, JIFFIES),
	  "5.18: per-CPU pending counter, elapsed busy time" },
	{ "linux-6.10",	MODES(PERCPU, PERCPU, CHECKED, JIFFIES),
	  "since 6.10: busy time checks for I/O in flight" },
	{ "native",	MODES(NATIVE, OFF, OFF, OFF),
	  "the running kernel's bdev_start_io_acct and bdev_end_io_acct" },
};
const unsigned int tally_profile_count = ARRAY_SIZE(tally_profiles);

const struct tally_mode *tally_axis_modes(enum tally_axis axis,
					  unsigned int *count)
{
	*count = axes[axis].count;
	return axes[axis].modes;
}

const char *tally_mode_name(enum tally_axis axis, u8 mode)
{
	return axes[axis].modes[mode].name;
}

/* Only mapped devices have a pending counter. */
static union tally_modes fit(union tally_modes m, bool mapped)
{
	if (!mapped)
		m.pending = PENDING_OFF;
	return m;
}

const char *tally_profile_name(struct tally_disk *td, union tally_modes m)
{
	const bool mapped = td->ops->kind == TALLY_KIND_MAP;
	unsigned int i;

	/* Without a pending counter two profiles are alike: say what was set. */
	if (td->profile && fit(td->profile->modes, mapped).all == m.all)
		return td->profile->name;
	for (i = 0; i < tally_profile_count; i++)
		if (fit(tally_profiles[i].modes, mapped).all == m.all)
			return tally_profiles[i].name;
	return "custom";
}

static int check(union tally_modes m, bool mapped, struct tally_request *rq)
{
	int axis;

	if (m.inflight == INFLIGHT_NATIVE)
		for (axis = TALLY_AXIS_PENDING; axis < TALLY_AXES; axis++)
			if (m.axis[axis])
				return tally_refuse(rq, -EINVAL,
					"inflight=native brings its own accounting, but %s=%s is not off",
					tally_axis_names[axis],
					tally_mode_name(axis, m.axis[axis]));
	if ((m.ticks == TICKS_ROUND || m.ticks == TICKS_CHECKED) &&
	    m.inflight == INFLIGHT_OFF)
		return tally_refuse(rq, -EINVAL,
			"ticks=%s asks what is in flight, but inflight=off",
			tally_mode_name(TALLY_AXIS_TICKS, m.ticks));
	if (m.pending && !mapped)
		return tally_refuse(rq, -EINVAL,
			"pending=%s: only mapped devices have a pending counter",
			tally_mode_name(TALLY_AXIS_PENDING, m.pending));
	return 0;
}

static int parse_mode(union tally_modes *m, enum tally_axis axis,
		      const char *word, struct tally_request *rq)
{
	unsigned int i;

	for (i = 0; i < axes[axis].count; i++)
		if (!strcmp(word, axes[axis].modes[i].name)) {
			m->axis[axis] = i;
			return 0;
		}
	return tally_refuse(rq, -EINVAL,
		"%s=%.32s: no such mode (the command MODES lists them)",
		tally_axis_names[axis], word);
}

/**
 * tally_modes_resolve() - what a profile and words on axes come to
 * @m: the modes now; changed on success only
 * @mapped: a mapped device?
 * @profile: name, or empty
 * @mode: a word per axis, or empty; NULL: none
 * @found: where to leave the profile that was named, untouched without one
 * @rq: where to say why not
 */
int tally_modes_resolve(union tally_modes *m, bool mapped, const char *profile,
			const char *const mode[TALLY_AXES],
			const struct tally_profile **found,
			struct tally_request *rq)
{
	const struct tally_profile *named = NULL;
	union tally_modes new = *m;
	unsigned int i;
	int axis, err;

	if (*profile) {
		for (i = 0; i < tally_profile_count && !named; i++)
			if (!strcmp(profile, tally_profiles[i].name))
				named = &tally_profiles[i];
		if (!named)
			return tally_refuse(rq, -EINVAL,
				"profile %.32s: no such profile (the command PROFILES lists them)",
				profile);
		new = fit(named->modes, mapped);
	}
	for (axis = 0; mode && axis < TALLY_AXES; axis++)
		if (mode[axis] && *mode[axis]) {
			err = parse_mode(&new, axis, mode[axis], rq);
			if (err)
				return err;
		}
	err = check(new, mapped, rq);
	if (err)
		return err;
	*m = new;
	if (named)
		*found = named;
	return 0;
}
