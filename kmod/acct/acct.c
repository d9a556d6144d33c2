// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slow half of accounting: cells, snapshots, and the live switch:
 * prepare (may fail, the old modes stay) - quiesce - swap - go on - free.
 */
#include <linux/slab.h>

#include "core/internal.h"

int tally_acct_init(struct tally_acct *a)
{
	a->busy = alloc_percpu(struct tally_busy);
	a->pending_cells = alloc_percpu(unsigned long);
	if (!a->busy || !a->pending_cells) {
		tally_acct_exit(a);
		return -ENOMEM;
	}
	spin_lock_init(&a->lock);
	raw_spin_lock_init(&a->exact.lock);
	a->shared.stamp = jiffies;
	return 0;
}

void tally_acct_exit(struct tally_acct *a)
{
	free_percpu(a->busy);
	free_percpu(a->pending_cells);
	kfree(a->nodes);
	a->busy = NULL;
	a->pending_cells = NULL;
	a->nodes = NULL;
}

/* What the new modes need beside what every disk has. */
int tally_acct_prepare(union tally_modes m, struct tally_node_pair **nodes)
{
	*nodes = NULL;
	if (m.inflight != INFLIGHT_PERNODE)
		return 0;
	*nodes = kcalloc(nr_node_ids, sizeof(**nodes), GFP_KERNEL);
	return *nodes ? 0 : -ENOMEM;
}

static u64 total_nsecs(struct block_device *bdev)
{
	return tally_stat_read(bdev, nsecs[STAT_READ]) +
	       tally_stat_read(bdev, nsecs[STAT_WRITE]) +
	       tally_stat_read(bdev, nsecs[STAT_DISCARD]) +
	       tally_stat_read(bdev, nsecs[STAT_FLUSH]);
}

/* Where busy time and queue time come from under these modes, in ms. */
static u64 busy_source(struct tally_acct *a, union tally_modes m)
{
	if (m.inflight == INFLIGHT_NATIVE)
		return tally_jiffies_to_ms(tally_stat_read(a->whole, io_ticks));
	return tally_ticks_read(a);
}

static u64 queue_source(struct tally_acct *a, union tally_modes m)
{
	if (m.ticks == TICKS_ROUND)
		return tally_queue_read(a);
	return div_u64(total_nsecs(a->whole), NSEC_PER_MSEC);
}

static u64 carried(const struct tally_carry *c, u64 source)
{
	return c->base + source - c->origin;
}

static void take(struct tally_acct *a, struct tally_snapshot *s)
{
	const union tally_modes m = a->modes;

	lockdep_assert_held(&a->lock);
	s->modes = m;
	tally_ticks_before_read(a, m);
	if (tally_has_shadow(m))
		tally_shadow_read(a, m, s->inflight);
	else
		tally_inflight_read(a, m, s->inflight);
	s->busy_ms = carried(&a->carry_busy, busy_source(a, m));
	s->queue_ms = carried(&a->carry_queue, queue_source(a, m));
}

/* What the disk's mode says now. */
void tally_acct_snapshot(struct tally_acct *a, struct tally_snapshot *s)
{
	spin_lock(&a->lock);
	take(a, s);
	spin_unlock(&a->lock);
}

void tally_disk_quiesced(struct tally_disk *td)
{
	struct tally_acct *a = &td->acct;

	spin_lock(&a->lock);
	tally_shadow_check(a);
	spin_unlock(&a->lock);
}
EXPORT_SYMBOL_GPL(tally_disk_quiesced);

/*
 * The disk is quiesced: nothing is between begin and end.  On return *nodes is
 * what the old modes had, to be freed once I/O goes on.
 */
void tally_acct_swap(struct tally_acct *a, union tally_modes m,
		     struct tally_node_pair **nodes)
{
	struct tally_snapshot s;

	spin_lock(&a->lock);
	take(a, &s);
	a->carry_busy = (struct tally_carry){ s.busy_ms, busy_source(a, m) };
	a->carry_queue = (struct tally_carry){ s.queue_ms, queue_source(a, m) };

	/* A stale stamp would credit the new model with the old one's time. */
	a->shared.stamp = jiffies;
	if (tally_has_shadow(m) && !tally_has_shadow(a->modes))
		memset(&a->shadow, 0, sizeof(a->shadow));
	if (tally_modes_axes(m).all != tally_modes_axes(a->modes).all)
		WRITE_ONCE(a->switches, a->switches + 1);
	swap(a->nodes, *nodes);
	WRITE_ONCE(a->modes.all, m.all);
	spin_unlock(&a->lock);
}

/* Under the switch lock. */
static int switch_modes(struct tally_disk *td, union tally_modes m)
{
	struct tally_node_pair *nodes;
	int err;

	if (m.all == td->acct.modes.all)
		return 0;
	err = tally_acct_prepare(m, &nodes);
	if (err)
		return err;
	err = td->ops->quiesce(td, m);
	if (!err) {
		tally_acct_swap(&td->acct, m, &nodes);
		td->ops->unquiesce(td);
	}
	kfree(nodes);
	return err;
}

int tally_disk_lock(struct tally_disk *td, struct tally_request *rq)
{
	if (mutex_lock_killable(&td->switch_lock))
		return -EINTR;
	if (!td->dead)
		return 0;
	mutex_unlock(&td->switch_lock);
	return tally_refuse(rq, -ENODEV, "%s is being removed", td->name);
}
EXPORT_SYMBOL_GPL(tally_disk_lock);

void tally_disk_unlock(struct tally_disk *td)
{
	mutex_unlock(&td->switch_lock);
	if (td->ops->released)
		td->ops->released(td);
}
EXPORT_SYMBOL_GPL(tally_disk_unlock);

int tally_disk_set(struct tally_disk *td, const char *profile,
		   const char *const mode[TALLY_AXES],
		   struct tally_request *rq)
{
	const bool mapped = td->ops->kind == TALLY_KIND_MAP;
	const struct tally_profile *named;
	union tally_modes m;
	int err;

	err = tally_disk_lock(td, rq);
	if (err)
		return err;
	m = tally_modes_axes(td->acct.modes);
	named = td->profile;
	err = tally_modes_resolve(&m, mapped, profile, mode, &named, rq);
	if (!err) {
		m.clock |= td->acct.modes.clock & TALLY_SHADOW_BIT;
		err = switch_modes(td, m);
	}
	if (!err)
		td->profile = named;
	tally_disk_unlock(td);
	return err;
}
EXPORT_SYMBOL_GPL(tally_disk_set);

int tally_disk_set_shadow(struct tally_disk *td, bool on)
{
	union tally_modes m;
	int err;

	err = tally_disk_lock(td, NULL);
	if (err)
		return err;
	m = tally_modes_axes(td->acct.modes);
	if (on)
		m.clock |= TALLY_SHADOW_BIT;
	err = switch_modes(td, m);
	tally_disk_unlock(td);
	return err;
}
