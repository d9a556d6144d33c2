/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tally_core gives to the modules on top of it: disks with a name and
 * switchable accounting, and commands on the control node.
 *
 * Locking
 * -------
 * registry lock   names, UUIDs and the list of disks; innermost, never held
 *                 across anything that sleeps on I/O.
 * td->switch_lock one change of a disk at a time, and td->dead.  Taken by a
 *                 sysfs store or by a command, then ->quiesce takes what its
 *                 module needs.  Not held across open, close, add_disk, del_gendisk:
 *                 del_gendisk waits for running stores.
 */
#ifndef TALLY_CORE_H
#define TALLY_CORE_H

#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "acct/acct.h"
#include "core/version.h"
#include "uapi/blktally.h"

/* One command being carried out. */
struct tally_request {
	void *arg;			/* kernel copy of the structure */
	const struct tally_head *head;	/* its beginning, checked */
	char reason[TALLY_REASON_MAX];	/* plain words, when it fails */
};

/**
 * tally_refuse() - say why a request fails
 * @rq: the request, or NULL where nobody can be told (sysfs, module load)
 * @error: negative errno
 * @fmt: the refused value and the limit, in plain words
 *
 * Returns @error, so that "return tally_refuse(...)" reads well.
 */
__printf(3, 4)
int tally_refuse(struct tally_request *rq, int error, const char *fmt, ...);

/* ---------------------------------------------------------------- disks */

struct tally_disk;

/**
 * struct tally_disk_ops - what a kind of disk gives to the core
 * @owner: module
 * @kind: for listings
 * @quiesce: stop new I/O and wait until none is in flight; may sleep.  -EINTR
 *	on a fatal signal, and then nothing has changed.  Modes are switched
 *	between this and @unquiesce, to those it is told.
 * @unquiesce: let I/O go on
 * @released: after that, with no lock held: submit what waited; may be NULL
 * @info: fill in what the core does not know
 * @native_inflight: reads and writes in flight under the mode native of a
 *	disk behind blk-mq, where the block layer counts; else NULL
 */
struct tally_disk_ops {
	struct module *owner;
	enum tally_kind kind;
	int (*quiesce)(struct tally_disk *td, union tally_modes next);
	void (*unquiesce)(struct tally_disk *td);
	void (*released)(struct tally_disk *td);
	void (*info)(struct tally_disk *td, struct tally_disk_info *info);
	void (*native_inflight)(struct tally_disk *td,
				unsigned int inflight[2]);
};

/**
 * struct tally_disk - a disk of ours
 *
 * The first member of the driver's own structure, and gendisk->private_data
 * points to it.  It lives as long as the gendisk (freed by ->free_disk).
 */
struct tally_disk {
	struct tally_acct acct;		/* hot part first */
	struct gendisk *disk;
	const struct tally_disk_ops *ops;

	struct mutex switch_lock;
	bool dead;			/* under switch_lock: no more switches */
	const struct tally_profile *profile;	/* last one set; a hint */

	struct list_head node;		/* under the registry lock, as below */
	bool listed;			/* may be found */
	char name[TALLY_NAME_LEN];
	char uuid[TALLY_UUID_LEN];
};

/* "tally/", among the groups that are given to device_add_disk(). */
extern const struct attribute_group tally_disk_group;

/*
 * Life of a disk, in order.  init: modes of @profile (empty: none).  claim:
 * name and UUID are taken (-EEXIST); an empty name takes the kernel's.
 * publish: after add_disk, it can be found.  withdraw: no longer found; true
 * for the one caller that is to remove it.  kill: no more mode switches.
 * exit: name free again, cells freed; any time after claim failed or withdraw.
 */
int tally_disk_init(struct tally_disk *td, const struct tally_disk_ops *ops,
		    const char *profile, struct tally_request *rq);
void tally_disk_attach(struct tally_disk *td, struct gendisk *disk);
int tally_disk_claim(struct tally_disk *td, const char *name, const char *uuid,
		     struct tally_request *rq);
void tally_disk_publish(struct tally_disk *td);
bool tally_disk_withdraw(struct tally_disk *td);
void tally_disk_kill(struct tally_disk *td);
void tally_disk_unclaim(struct tally_disk *td);
void tally_disk_exit(struct tally_disk *td);

/* Find a disk and hold it and its module; ERR_PTR with a reason. */
struct tally_disk *tally_disk_get(const struct tally_ref *ref,
				  enum tally_kind kind,
				  struct tally_request *rq);
void tally_disk_put(struct tally_disk *td);

/* Is this block device one of our disks, or on one? */
bool tally_disk_owns(struct block_device *bdev);

/* Words that a request carries: NUL-terminated within their array? */
int tally_check_string(struct tally_request *rq, const char *what,
		       const char *text, size_t size);

/* -------------------------------------------------------- mode switches */

struct tally_profile {
	const char *name;
	union tally_modes modes;
	const char *about;
};

struct tally_mode {
	const char *name;
	const char *about;
};

/**
 * tally_disk_set() - switch accounting, live
 * @profile: name, or empty
 * @mode: a word per axis, or empty; applied after @profile
 *
 * Waits until the I/O in flight has ended.  Returns 0, -EINVAL (unknown word,
 * senseless combination), -ENOMEM, -EINTR, -ENODEV; on errors the old modes
 * stand.
 */
int tally_disk_set(struct tally_disk *td, const char *profile,
		   const char *const mode[TALLY_AXES],
		   struct tally_request *rq);

/* A change of the disk: -EINTR on a fatal signal, -ENODEV if it is going. */
int tally_disk_lock(struct tally_disk *td, struct tally_request *rq);
void tally_disk_unlock(struct tally_disk *td);

/* To be called whenever no I/O is in flight and none can start. */
void tally_disk_quiesced(struct tally_disk *td);

const char *tally_profile_name(struct tally_disk *td, union tally_modes m);
const char *tally_mode_name(enum tally_axis axis, u8 mode);

/* ------------------------------------------------------------- commands */

/**
 * struct tally_command - one command of the control node
 * @nr: _IOC_NR
 * @name: for listings
 * @size: of its structure now
 * @min: of the first published layout
 * @flags: those that it knows
 * @noio: it may have to resume a map, or takes a lock that a resume takes: no
 *	memory is freed by writing meanwhile
 * @run: carry it out; @rq->arg may be changed and is copied out on success
 */
struct tally_command {
	unsigned int nr;
	const char *name;
	size_t size;
	size_t min;
	u32 flags;
	bool noio;
	int (*run)(struct tally_request *rq);
};

#define TALLY_COMMAND(word, type, function, ...) {			\
	.nr = _IOC_NR(TALLY_##word), .name = #word,			\
	.size = sizeof(struct type), .min = sizeof(struct type),	\
	.run = (function), ##__VA_ARGS__ }

/* The commands of one module. */
struct tally_commands {
	struct module *owner;
	u64 feature;			/* TALLY_FEATURE_*, for INFO */
	const struct tally_command *list;
	unsigned int count;
	struct list_head node;
};

int tally_commands_register(struct tally_commands *commands);
void tally_commands_unregister(struct tally_commands *commands);

/*
 * Copy a variable-length answer out: sets *used; writes only if it fits.
 */
int tally_answer(u64 buf, u32 buf_len, u32 *used, const void *from, size_t len);

/* The same for an array of records, each cut or padded to record_size. */
int tally_answer_records(struct tally_request *rq, u32 record_size, u64 buf,
			 u32 buf_len, u32 *used, const void *from,
			 size_t count, size_t size);

#endif /* TALLY_CORE_H */
