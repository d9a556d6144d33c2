// SPDX-License-Identifier: GPL-2.0-only
/* 6.13 (908a1d775422): hrtimer_setup() */
#include <linux/hrtimer.h>
static enum hrtimer_restart probe_fire(struct hrtimer *t) { return HRTIMER_NORESTART; }
void probe(struct hrtimer *t);
void probe(struct hrtimer *t)
{
	hrtimer_setup(t, probe_fire, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
