// SPDX-License-Identifier: GPL-2.0-only
/*
 * Caps on bandwidth and on I/Os: the disk as a server that takes a fixed time
 * for each I/O, one after the other.  All it keeps is until when it is busy, so
 * an idle disk costs nothing.
 *
 * I/O that waits cannot be called back, and a freeze waits for it: so nothing
 * waits for longer than TALLY_COMPLETION_NS_MAX, and more I/O at once than a cap
 * lets through in that time is above the cap.
 */
#include <linux/ktime.h>
#include <linux/math64.h>

#include "ram/ram.h"

#define FRACTION_BITS	20	/* of ns per byte */
/* Who comes late, by its own doing or a timer's, may make up for so much. */
#define SLACK_NS	(4 * NSEC_PER_MSEC)

/* How long from now until an I/O of so many bytes may end, in ns. */
u64 ram_cap_delay(struct tally_ram *r, unsigned int bytes)
{
	struct ram_cap *c = &r->cap;
	const u64 cost = max(READ_ONCE(c->ns_per_io),
			     mul_u64_u64_shr(READ_ONCE(c->ns_per_byte), bytes,
					     FRACTION_BITS));
	s64 now, next, until;

	if (!cost)
		return 0;
	now = ktime_get_ns();
	until = atomic64_read(&c->busy_until);
	do {
		next = min_t(u64, max_t(s64, until, now - SLACK_NS) + cost,
			     now + TALLY_COMPLETION_NS_MAX);
	} while (!atomic64_try_cmpxchg(&c->busy_until, &until, next));
	return max_t(s64, next - now, 0);
}

/* 0: no cap.  The disk is locked. */
static int apply(struct tally_ram *r, u64 *setting, u64 value)
{
	struct ram_cap *c = &r->cap;
	const u64 old = *setting;
	int err;

	*setting = value;
	err = ram_set_ends(r);
	if (err) {
		*setting = old;
		return err;
	}
	WRITE_ONCE(c->ns_per_io, c->iops ?
		   DIV64_U64_ROUND_UP(NSEC_PER_SEC, c->iops) : 0);
	WRITE_ONCE(c->ns_per_byte, c->bandwidth ?
		   div64_u64((u64)NSEC_PER_SEC << FRACTION_BITS,
			     c->bandwidth) : 0);
	atomic64_set(&c->busy_until, 0);	/* the old cap's debt is forgiven */
	return 0;
}

static int refuse_polled(const struct tally_ram *r, const char *name, u64 value,
			 struct tally_request *rq)
{
	if (!value || !r->queues.poll)
		return 0;
	return tally_refuse(rq, -EINVAL,
		"%s=%llu: not with polled queues, which end I/O when they are asked",
		name, value);
}

int ram_cap_iops(struct tally_ram *r, u64 iops, struct tally_request *rq)
{
	if (iops > NSEC_PER_SEC / 100)
		return tally_refuse(rq, -EINVAL, "iops=%llu: at most %lu, 0 is no cap",
				    iops, NSEC_PER_SEC / 100);
	return refuse_polled(r, "iops", iops, rq) ?:
	       apply(r, &r->cap.iops, iops);
}

int ram_cap_bandwidth(struct tally_ram *r, u64 bytes, struct tally_request *rq)
{
	if (bytes && (bytes < RAM_BANDWIDTH_MIN || bytes > RAM_BANDWIDTH_MAX))
		return tally_refuse(rq, -EINVAL,
			"bandwidth=%llu: from %d to %llu bytes a second, 0 is no cap",
			bytes, RAM_BANDWIDTH_MIN, RAM_BANDWIDTH_MAX);
	return refuse_polled(r, "bandwidth", bytes, rq) ?:
	       apply(r, &r->cap.bandwidth, bytes);
}
