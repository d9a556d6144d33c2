/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * blktally: the ioctl ABI of /dev/blktally/control
 *
 * The protocol
 * ------------
 * All commands go to the misc device /dev/blktally/control (mode 0600) and
 * need CAP_SYS_ADMIN.  A command is _IOWR(TALLY_IOC_TYPE, nr, struct): the
 * kernel dispatches on type, number and direction and ignores the size bits,
 * so a structure can grow without a new command.  An unknown number, another
 * type or a wrong direction is -ENOTTY.  A command whose module is not loaded is
 * -ENOTTY as well: the module brings its commands along.
 *
 * Every structure begins with struct tally_head:
 *
 *   size        bytes of the whole structure as the caller knows it.  Smaller
 *               than the first published layout, or larger than a page: -EINVAL.
 *               Bytes beyond what the kernel knows must be zero (else -E2BIG);
 *               bytes that the caller does not know are taken as zero.  On
 *               return the kernel writes min(size, its own size) bytes and
 *               zeroes the rest.
 *   abi         TALLY_ABI_VERSION.  Any other value: -EPROTONOSUPPORT, and the
 *               kernel's version is written back to this field.
 *   flags       bits of the command, named below; an unknown one is -EINVAL.
 *   reason      address of a buffer of reason_len bytes, or 0.  When a command
 *               fails, the kernel writes into it, NUL-terminated and cut to
 *               fit, why: the refused value and the limit, in plain words.  It
 *               is not written on success.
 *
 * When a command fails nothing else is copied out, and nothing has changed;
 * only when the structure becomes unwritable while the command runs is EFAULT
 * returned after the deed.  A buffer that turns out to be no memory half-way
 * (EFAULT) may have got the first part of the answer.
 * All padding must be zero on the way in (-EINVAL) and is zero on the way out.
 *
 * Strings are NUL-terminated inside their arrays; one without a NUL is
 * -ENAMETOOLONG (names, UUIDs) or -EINVAL (the rest).
 *
 * Variable-length answers ("buf, buf_len, buf_used"): the kernel always sets
 * buf_used to the bytes that the whole answer takes.  If that is more than
 * buf_len, nothing is written to buf, and the caller tries again with a larger
 * one; the command still succeeds.  buf_len may be 0.
 *
 * Arrays of records carry "record_size": in, the caller's stride (at least 8,
 * at most a page, a multiple of 8, else EINVAL); each record is cut or
 * zero-padded to it.
 *
 * Errors common to all commands: ENOTTY, EPERM (no CAP_SYS_ADMIN), EFAULT,
 * EINVAL, E2BIG, EPROTONOSUPPORT, ENOMEM, EINTR (a fatal signal came while
 * waiting; the old state stands.  Who called is about to die and does not see
 * it; other signals end no wait but that of GEN_RUN).  Commands that name a
 * disk: ENXIO (no such disk), ENODEV (a disk of ours, but of the wrong kind or
 * on its way out), ENAMETOOLONG, EINVAL (by name and by number at once).
 * Others are listed at the command.
 *
 * Sizes and positions are in sectors of 512 bytes unless a name says bytes;
 * times are in nanoseconds unless it says otherwise.
 */
#ifndef _UAPI_BLKTALLY_H
#define _UAPI_BLKTALLY_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define TALLY_ABI_VERSION	1

#define TALLY_IOC_TYPE		0xBC	/* free in Documentation/.../ioctl-number.rst */

#define TALLY_NAME_LEN		128	/* 127 bytes and NUL, as in device-mapper */
#define TALLY_UUID_LEN		136	/* at most 128 bytes and NUL; room to align */
#define TALLY_UUID_MAX		128
#define TALLY_DISK_LEN		32	/* kernel disk name, as "tmap0" */
#define TALLY_SETTING_LEN	32
#define TALLY_VALUE_LEN		64
#define TALLY_WORD_LEN		16	/* name of a mode, of a target */
#define TALLY_PROFILE_LEN	32	/* name of a profile */
#define TALLY_ABOUT_LEN		160	/* one line of description */
#define TALLY_REASON_MAX	256	/* longest reason, with its NUL */
#define TALLY_TABLE_MAX		(4 << 20)	/* bytes of table text in one load */
#define TALLY_SEGMENTS_MAX	65536	/* segments of one table */
#define TALLY_DEPTH_MAX		8	/* mapped devices on top of each other */
#define TALLY_GEN_THREADS_MAX	1024
#define TALLY_GEN_DEPTH_MAX	4096
#define TALLY_GEN_BLOCK_MAX	(1 << 20)	/* bytes */

/* The accounting axes, in the order of every array "mode[TALLY_AXES]". */
enum tally_axis {
	TALLY_AXIS_INFLIGHT	= 0,
	TALLY_AXIS_PENDING	= 1,
	TALLY_AXIS_TICKS	= 2,
	TALLY_AXIS_CLOCK	= 3,
	TALLY_AXES		= 4,
};

struct tally_head {
	__u32 size;
	__u32 abi;
	__u32 flags;
	__u32 reason_len;
	__aligned_u64 reason;
};

/*
 * A disk of ours, named in one of two ways: by its name (name[0] != 0, then
 * major and minor are 0) or by its device number (name empty).
 */
struct tally_ref {
	char name[TALLY_NAME_LEN];
	__u32 major;
	__u32 minor;
};

/* What one disk of ours is, for the tools. */
enum tally_kind {
	TALLY_KIND_ANY	= 0,	/* in requests only */
	TALLY_KIND_RAM	= 1,
	TALLY_KIND_MAP	= 2,
};

#define TALLY_DISK_READONLY	(1 << 0)
#define TALLY_DISK_SUSPENDED	(1 << 1)	/* mapped devices */
#define TALLY_DISK_LIVE		(1 << 2)	/* has a live table */
#define TALLY_DISK_INACTIVE	(1 << 3)	/* has an inactive table */

struct tally_disk_info {
	__u32 kind;
	__u32 state;			/* TALLY_DISK_* */
	__u32 major;
	__u32 minor;
	__aligned_u64 sectors;
	__u32 open_count;
	__u32 segments;			/* of the live table */
	__u32 events;			/* table swaps so far */
	__u32 block_size;		/* logical, bytes */
	__aligned_u64 switches;		/* live mode switches so far */
	char name[TALLY_NAME_LEN];
	char uuid[TALLY_UUID_LEN];
	char disk[TALLY_DISK_LEN];
	char profile[TALLY_PROFILE_LEN];
	char mode[TALLY_AXES][TALLY_WORD_LEN];
	char detail[TALLY_ABOUT_LEN];	/* "ram flat inline" and the like */
};

/* ------------------------------------------------------------ tally_core */

/* What this build of the modules can do. */
struct tally_info {
	struct tally_head head;
	__u32 version[3];		/* of blktally: major, minor, patch */
	__u32 pad;
	__aligned_u64 features;		/* TALLY_FEATURE_* */
	__u32 name_max, uuid_max;	/* bytes, without NUL */
	__u32 table_max, segments_max;
	__u32 depth_max, gen_threads_max;
	__u32 gen_depth_max, gen_block_max;
};
/* Each bit says that the commands of that module are there now. */
#define TALLY_FEATURE_RAM	(1ULL << 0)
#define TALLY_FEATURE_MAP	(1ULL << 1)
#define TALLY_FEATURE_GEN	(1ULL << 2)

/* All disks of ours: an array of struct tally_disk_info in buf. */
struct tally_list {
	struct tally_head head;
	__u32 kind;			/* enum tally_kind */
	__u32 record_size;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 buf_used;
};

/* One disk of ours. */
struct tally_disk_get {
	struct tally_head head;
	struct tally_ref ref;
	struct tally_disk_info info;	/* out */
};

/*
 * Switch accounting, live.  Empty strings leave an axis as it is; profile and
 * single axes together apply in that order.  EINVAL: unknown word, or a
 * combination that makes no sense (the reason names the axis in the way).
 */
struct tally_set {
	struct tally_head head;
	struct tally_ref ref;
	char profile[TALLY_PROFILE_LEN];
	char mode[TALLY_AXES][TALLY_WORD_LEN];
};

/* The profiles: an array of struct tally_profile_info in buf. */
struct tally_profile_info {
	char name[TALLY_PROFILE_LEN];
	char mode[TALLY_AXES][TALLY_WORD_LEN];
	char about[TALLY_ABOUT_LEN];
};

/* The modes: an array of struct tally_mode_info in buf, axis by axis. */
struct tally_mode_info {
	__u32 axis;
	__u32 pad;
	char name[TALLY_WORD_LEN];
	char about[TALLY_ABOUT_LEN];
};

/* Shape of PROFILES, MODES and TARGETS. */
struct tally_records {
	struct tally_head head;
	__u32 pad;
	__u32 record_size;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 buf_used;
};

#define TALLY_INFO	_IOWR(TALLY_IOC_TYPE, 0x00, struct tally_info)
#define TALLY_LIST	_IOWR(TALLY_IOC_TYPE, 0x01, struct tally_list)
#define TALLY_DISK_GET	_IOWR(TALLY_IOC_TYPE, 0x02, struct tally_disk_get)
#define TALLY_SET	_IOWR(TALLY_IOC_TYPE, 0x03, struct tally_set)
#define TALLY_PROFILES	_IOWR(TALLY_IOC_TYPE, 0x04, struct tally_records)
#define TALLY_MODES	_IOWR(TALLY_IOC_TYPE, 0x05, struct tally_records)

/* ------------------------------------------------------------- tally_ram */

/*
 * A null or RAM disk.  name: empty takes the kernel's disk name.  profile:
 * empty is "none".  sectors: never 0, a multiple of the block size; a flat store
 * must fit into free memory.  Out: major, minor, disk.  Numbers of 0, and empty
 * words, take the default.
 *
 * queue "bio": I/O comes as it was submitted, and ends in the order of its
 * completion.  queue "mq": through the block layer's request queues, of which
 * there are submit_queues (1) and poll_queues (none) with `depth` (64) requests
 * each; the flags TALLY_RAM_MQ_*, TALLY_RAM_VIRT_BOUNDARY and max_sectors (no
 * limit) go with it and with nothing else.
 *
 * completion "timer": an I/O ends completion_ns (10000) after its submission;
 * with jitter "uniform" up to jitter_ns sooner or later, with "exponential"
 * later by a time whose mean is jitter_ns (at most 16 times that); never after
 * more than TALLY_COMPLETION_NS_MAX.  completion "softirq" is, of queue mq, the
 * block layer's own way to complete.  Requests of a polled queue end when they
 * are polled for, whatever the completion.
 *
 * Errors: EEXIST (name taken), ENAMETOOLONG, EINVAL (a name as in MAP_CREATE,
 * an unknown word, a number out of range, words, flags or numbers that do not
 * go together), ENOSPC (no index left), ENOMEM (also: a flat store that does
 * not fit into free memory).
 */
struct tally_ram_add {
	struct tally_head head;		/* flags: TALLY_RAM_* but FORCE */
	char name[TALLY_NAME_LEN];
	char profile[TALLY_PROFILE_LEN];
	char backing[TALLY_WORD_LEN];	/* "null", "ram" (default) */
	char store[TALLY_WORD_LEN];	/* "flat" (default), "sparse"; ram only */
	char queue[TALLY_WORD_LEN];	/* "bio" (default), "mq" */
	char completion[TALLY_WORD_LEN];/* "inline" (default), "softirq", "timer" */
	char jitter[TALLY_WORD_LEN];	/* "none" (default), "uniform", "exponential" */
	__aligned_u64 sectors;
	__aligned_u64 completion_ns;	/* at most TALLY_COMPLETION_NS_MAX */
	__aligned_u64 jitter_ns;	/* uniform: at most completion_ns */
	__u32 block_size;		/* 512 (default) to the page size, 2^n */
	__s32 node;			/* NUMA node of the data, -1: any */
	__u32 submit_queues;		/* at most the number of possible CPUs */
	__u32 poll_queues;		/* the same */
	__u32 depth;			/* at most TALLY_RAM_DEPTH_MAX */
	__u32 max_sectors;		/* of an I/O; mq only, whole pages */
	__u32 io_min;			/* hints in bytes: whole pages, */
	__u32 io_opt;			/* and a multiple of io_min */
	__u32 major;			/* out */
	__u32 minor;			/* out */
	char disk[TALLY_DISK_LEN];	/* out */
};
#define TALLY_RAM_READONLY	(1 << 0)
/* One tag set for all disks of this flag and of equal shape. */
#define TALLY_RAM_MQ_SHARED_TAGS (1 << 2)
/* The queues of a disk share its tags: `depth` in all. */
#define TALLY_RAM_MQ_TAG_BITMAP	(1 << 3)
/* No I/O scheduler unless one is asked for. */
#define TALLY_RAM_MQ_NO_SCHED	(1 << 4)
/* The driver may sleep; a sparse store does anyway. */
#define TALLY_RAM_MQ_BLOCKING	(1 << 5)
/* A submit queue per NUMA node; not with submit_queues. */
#define TALLY_RAM_MQ_PER_NODE	(1 << 6)
/* No gaps between the pieces of an I/O but at pages, as NVMe has it; mq only. */
#define TALLY_RAM_VIRT_BOUNDARY	(1 << 7)
/* It says that it rotates. */
#define TALLY_RAM_ROTATIONAL	(1 << 8)
/* It takes no discards. */
#define TALLY_RAM_NO_DISCARD	(1 << 9)
#define TALLY_RAM_FLAGS		(TALLY_RAM_READONLY | TALLY_RAM_MQ_FLAGS | \
				 TALLY_RAM_VIRT_BOUNDARY |		\
				 TALLY_RAM_ROTATIONAL | TALLY_RAM_NO_DISCARD)
#define TALLY_RAM_MQ_FLAGS	(TALLY_RAM_MQ_SHARED_TAGS |		\
				 TALLY_RAM_MQ_TAG_BITMAP |		\
				 TALLY_RAM_MQ_NO_SCHED |		\
				 TALLY_RAM_MQ_BLOCKING | TALLY_RAM_MQ_PER_NODE)
#define TALLY_COMPLETION_NS_MAX	10000000000ULL
#define TALLY_RAM_DEPTH_MAX	10240

/*
 * Remove a null or RAM disk.  EBUSY while somebody has it open, unless
 * TALLY_RAM_FORCE: then openers get errors from now on.
 */
struct tally_ram_remove {
	struct tally_head head;		/* flags: TALLY_RAM_FORCE */
	struct tally_ref ref;
};
#define TALLY_RAM_FORCE		(1 << 1)

/*
 * Change a setting of a live disk, as a write to /sys/block/<disk>/ram/<setting>
 * does: decimal digits.  I/O in flight is waited for where the setting asks.
 *
 *   size		bytes; not of a flat store.  What was beyond the new end is
 *		gone, and reads as zeroes when it comes back.
 *   completion_ns  and
 *   jitter_ns	as for RAM_ADD; of completion "timer"
 *   iops	I/Os a second, at most 10^7; 0: no cap.  Without polled queues
 *   bandwidth	bytes of reads and writes a second, 2^16 to 2^40; the same
 *
 * Under a cap I/O waits, but for no longer than TALLY_COMPLETION_NS_MAX.
 *
 * EINVAL (no such setting, no number, a value that the disk cannot have), ERANGE
 * (over 64 bits), EBUSY (a partition ends beyond the new size), EIO or ENOSPC
 * (the cache could not be written before a shrink), ENOMEM, EINTR (a fatal signal
 * while it waited), ENODEV (it is being removed).
 */
struct tally_ram_set {
	struct tally_head head;
	struct tally_ref ref;
	char setting[TALLY_SETTING_LEN];
	char value[TALLY_VALUE_LEN];
};

/* What they are now. */
struct tally_ram_settings {
	struct tally_head head;
	struct tally_ref ref;
	__aligned_u64 buf;		/* "SETTING VALUE\n" each; no NUL */
	__u32 buf_len;
	__u32 buf_used;
};
#define TALLY_RAM_ADD	 _IOWR(TALLY_IOC_TYPE, 0x10, struct tally_ram_add)
#define TALLY_RAM_REMOVE _IOWR(TALLY_IOC_TYPE, 0x11, struct tally_ram_remove)
#define TALLY_RAM_SET	 _IOWR(TALLY_IOC_TYPE, 0x12, struct tally_ram_set)
#define TALLY_RAM_SETTINGS _IOWR(TALLY_IOC_TYPE, 0x13, struct tally_ram_settings)

/* ------------------------------------------------------------- tally_map */

/*
 * A mapped device without a table: size 0, suspended, I/O is refused (EIO)
 * until a table was loaded and resumed.
 * EEXIST (name or UUID taken), ENAMETOOLONG, EINVAL (a name that is empty,
 * reserved or like "tmap0", or holds a slash; a control character), ENOSPC.
 */
struct tally_map_create {
	struct tally_head head;		/* flags: TALLY_MAP_READONLY */
	char name[TALLY_NAME_LEN];
	char uuid[TALLY_UUID_LEN];	/* may be empty */
	char profile[TALLY_PROFILE_LEN];/* empty: "none" */
	__u32 major;			/* out */
	__u32 minor;			/* out */
	char disk[TALLY_DISK_LEN];	/* out */
};
#define TALLY_MAP_READONLY	(1 << 0)

/*
 * Put a table into the inactive slot, in place of what was there.  The text is
 * dmsetup's, lines of "start length target arguments", devices as
 * major:minor, numbers as [0-9]+, words parted by blanks or tabs, lines by \n;
 * blank lines and those that begin with # are skipped.
 * EINVAL (text: reason names line and word), ENODEV/ENXIO (no such device),
 * EBUSY (held by somebody else, or mounted), EROFS (the disk is read-only, and
 * the load not; some drivers of other disks say EACCES), ELOOP (onto itself, or
 * deeper than TALLY_DEPTH_MAX), E2BIG (over TALLY_TABLE_MAX or
 * TALLY_SEGMENTS_MAX).
 */
struct tally_map_load {
	struct tally_head head;		/* flags: TALLY_MAP_READONLY */
	struct tally_ref ref;
	__aligned_u64 table;		/* address of the text */
	__u32 table_len;		/* bytes, no NUL needed */
	__u32 pad;
};

/*
 * The commands on a map that need no more than its name.
 *   RESUME   make the inactive table live, if there is one, and let I/O go.
 *            EINVAL without any table, or if the disks below no longer have
 *            the sizes and blocks that the inactive one needs; EBUSY if it
 *            would raise the logical block size of a device that is open, or
 *            give a write cache to one that lies below another map.
 *   SUSPEND  defer new I/O and wait until that in flight has ended; if a fatal
 *            signal ends the wait the device goes on as before.  Idempotent,
 *            as RESUME.
 *   CLEAR    drop the inactive table.
 *   REMOVE   EBUSY while open.
 */
struct tally_map_op {
	struct tally_head head;
	struct tally_ref ref;
};

/* Text of the live table, as a load would take it, or of its targets' status. */
struct tally_map_table {
	struct tally_head head;		/* flags: TALLY_TABLE_* */
	struct tally_ref ref;
	__aligned_u64 buf;		/* lines, each ended by \n; no NUL */
	__u32 buf_len;
	__u32 buf_used;
};
#define TALLY_TABLE_INACTIVE	(1 << 0)	/* of the inactive slot */
#define TALLY_TABLE_STATUS	(1 << 1)	/* status instead of arguments */

/* The distinct lower disks of a table: an array of struct tally_dep in buf. */
struct tally_dep {
	__u32 major;
	__u32 minor;
};
struct tally_map_deps {
	struct tally_head head;		/* flags: TALLY_TABLE_INACTIVE */
	struct tally_ref ref;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 buf_used;
};

/* The targets: an array of struct tally_target_info in buf. */
struct tally_target_info {
	char name[TALLY_WORD_LEN];
	__u32 version[3];
	__u32 pad;
	char about[TALLY_ABOUT_LEN];
};

#define TALLY_MAP_CREATE  _IOWR(TALLY_IOC_TYPE, 0x20, struct tally_map_create)
#define TALLY_MAP_LOAD	  _IOWR(TALLY_IOC_TYPE, 0x21, struct tally_map_load)
#define TALLY_MAP_RESUME  _IOWR(TALLY_IOC_TYPE, 0x22, struct tally_map_op)
#define TALLY_MAP_SUSPEND _IOWR(TALLY_IOC_TYPE, 0x23, struct tally_map_op)
#define TALLY_MAP_CLEAR	  _IOWR(TALLY_IOC_TYPE, 0x24, struct tally_map_op)
#define TALLY_MAP_REMOVE  _IOWR(TALLY_IOC_TYPE, 0x25, struct tally_map_op)
#define TALLY_MAP_TABLE	  _IOWR(TALLY_IOC_TYPE, 0x26, struct tally_map_table)
#define TALLY_MAP_DEPS	  _IOWR(TALLY_IOC_TYPE, 0x27, struct tally_map_deps)
#define TALLY_MAP_TARGETS _IOWR(TALLY_IOC_TYPE, 0x28, struct tally_records)

/* ------------------------------------------------------------- tally_gen */

/* What one thread, or all of them together, did. */
struct tally_gen_result {
	__aligned_u64 ios;		/* completed without error */
	__aligned_u64 bytes;
	__aligned_u64 errors;		/* completed with one */
	__aligned_u64 ns;		/* first submission to last completion */
	__u32 cpu;			/* of a thread; of the total: 0 */
	__s32 error;			/* first error, negative errno, or 0 */
};

/*
 * Submit bios to a block device from pinned kernel threads, and wait.
 * fd: the device, opened by the caller (for writing if it is to write).
 * Ends after `ios` I/Os per thread or after duration_ns, whichever is given
 * and comes first; at least one must be given.  A signal ends the run at once:
 * the command succeeds, with TALLY_GEN_INTERRUPTED in `ended`.
 * start, span: the part of the device that is used; span 0 is up to the end.
 * Each thread walks the span from its own offset (sequential), or draws
 * blocks from a seeded generator (random).
 * cpus: address of nr_threads __u32 CPU numbers, or 0: CPUs in turn.
 * depth 1 waits for each bio (submit_bio_wait); deeper keeps `depth` bios in
 * flight per thread.
 * total and threads (an array of nr_threads struct tally_gen_result, or 0) are
 * filled in on success.
 * Errors: EBADF, ENOTBLK, EINVAL (a limit, or a CPU not on line), EACCES (fd not
 * open for writing), EPERM (writes to a disk that is not ours, without
 * TALLY_GEN_FORCE), EROFS, ENOMEM (also: buffers larger than half of free
 * memory).
 */
struct tally_gen_run {
	struct tally_head head;		/* flags: TALLY_GEN_* below */
	__s32 fd;
	__u32 nr_threads;
	__u32 depth;
	__u32 block_bytes;
	__aligned_u64 ios;
	__aligned_u64 duration_ns;
	__aligned_u64 start;
	__aligned_u64 span;
	__aligned_u64 seed;
	__aligned_u64 cpus;
	__aligned_u64 threads;		/* out: address */
	struct tally_gen_result total;	/* out */
	__u32 ended;			/* out: TALLY_GEN_INTERRUPTED */
	__u32 pad;
};
#define TALLY_GEN_WRITE		(1 << 0)
#define TALLY_GEN_RANDOM	(1 << 1)
#define TALLY_GEN_FORCE		(1 << 2)	/* write to a foreign disk */
#define TALLY_GEN_INTERRUPTED	(1 << 0)

#define TALLY_GEN_RUN	_IOWR(TALLY_IOC_TYPE, 0x30, struct tally_gen_run)

#endif /* _UAPI_BLKTALLY_H */
