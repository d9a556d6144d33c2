/* SPDX-License-Identifier: GPL-2.0-only */
/* Between the files of tally_core; nobody else includes it. */
#ifndef TALLY_CORE_INTERNAL_H
#define TALLY_CORE_INTERNAL_H

#include "core/tally.h"

extern struct tally_commands tally_core_commands;

struct seq_file;
void tally_commands_show(struct seq_file *m);
u64 tally_commands_features(void);

/* Every disk that may be found, in the order of creation, under the lock. */
int tally_registry_fill(enum tally_kind kind, struct tally_disk_info **list,
			size_t *count);
void tally_disk_fill(struct tally_disk *td, struct tally_disk_info *info);

extern const struct tally_profile tally_profiles[];
extern const unsigned int tally_profile_count;
extern const char *const tally_axis_names[TALLY_AXES];
const struct tally_mode *tally_axis_modes(enum tally_axis axis,
					  unsigned int *count);

int tally_modes_resolve(union tally_modes *m, bool mapped, const char *profile,
			const char *const mode[TALLY_AXES],
			const struct tally_profile **found,
			struct tally_request *rq);

int tally_acct_init(struct tally_acct *a);
void tally_acct_exit(struct tally_acct *a);
int tally_acct_prepare(union tally_modes m, struct tally_node_pair **nodes);
void tally_acct_swap(struct tally_acct *a, union tally_modes m,
		     struct tally_node_pair **nodes);

struct tally_snapshot {
	union tally_modes modes;	/* it is of */
	unsigned int inflight[2];	/* reads, writes */
	u64 busy_ms;
	u64 queue_ms;
};
void tally_acct_snapshot(struct tally_acct *a, struct tally_snapshot *s);

/* The modes in force, without the shadow. */
static inline union tally_modes tally_disk_modes(struct tally_disk *td)
{
	const union tally_modes m = { .all = READ_ONCE(td->acct.modes.all) };

	return tally_modes_axes(m);
}

int tally_disk_set_shadow(struct tally_disk *td, bool on);

int tally_control_init(void);
void tally_control_exit(void);
void tally_debugfs_init(void);
void tally_debugfs_exit(void);

#endif /* TALLY_CORE_INTERNAL_H */
