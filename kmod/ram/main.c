// SPDX-License-Identifier: GPL-2.0-only
/*
 * tally_ram: null and RAM disks.  Module parameters make nr_devices equal
 * disks at load; the control node makes and removes them at run time.
 */
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "ram/ram.h"

static unsigned int nr_devices;
module_param(nr_devices, uint, 0444);
MODULE_PARM_DESC(nr_devices, "disks to make at load (default 0)");

static unsigned long size_mb = 256;
module_param(size_mb, ulong, 0444);
MODULE_PARM_DESC(size_mb, "size of each in MiB (default 256)");

static char *backing = "ram";
module_param(backing, charp, 0444);
MODULE_PARM_DESC(backing, "ram or null (default ram)");

static char *store = "";
module_param(store, charp, 0444);
MODULE_PARM_DESC(store, "flat or sparse, of RAM disks (default flat)");

static unsigned int block_bytes = 512;
module_param_named(block_size, block_bytes, uint, 0444);
MODULE_PARM_DESC(block_size, "bytes, a power of two from 512 to the page size (default 512)");

static char *queue = "";
module_param(queue, charp, 0444);
MODULE_PARM_DESC(queue, "bio or mq (default bio)");

static unsigned int submit_queues;
module_param(submit_queues, uint, 0444);
MODULE_PARM_DESC(submit_queues, "of mq: how many (default 1)");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "of mq: how many beside them, to be polled (default 0)");

static unsigned int depth;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "of mq: requests of each queue (default 64)");

static unsigned int max_sectors;
module_param(max_sectors, uint, 0444);
MODULE_PARM_DESC(max_sectors, "of mq: most sectors of an I/O, whole pages (default: no limit)");

static unsigned int io_min;
module_param(io_min, uint, 0444);
MODULE_PARM_DESC(io_min, "hint: bytes of the least good I/O, whole pages (default: a page)");

static unsigned int io_opt;
module_param(io_opt, uint, 0444);
MODULE_PARM_DESC(io_opt, "hint: bytes of the best I/O, a multiple of io_min (default: none)");

static bool virt_boundary;
module_param(virt_boundary, bool, 0444);
MODULE_PARM_DESC(virt_boundary, "of mq: gaps in an I/O at pages only (default no)");

static bool rotational;
module_param(rotational, bool, 0444);
MODULE_PARM_DESC(rotational, "say that it rotates (default no)");

static bool no_discard;
module_param(no_discard, bool, 0444);
MODULE_PARM_DESC(no_discard, "take no discards (default no)");

static bool shared_tags;
module_param(shared_tags, bool, 0444);
MODULE_PARM_DESC(shared_tags, "of mq: one tag set for all disks (default no)");

static bool tag_bitmap;
module_param(tag_bitmap, bool, 0444);
MODULE_PARM_DESC(tag_bitmap, "of mq: the queues of a disk share its tags (default no)");

static bool no_sched;
module_param(no_sched, bool, 0444);
MODULE_PARM_DESC(no_sched, "of mq: no I/O scheduler unless asked for (default no)");

static bool blocking;
module_param(blocking, bool, 0444);
MODULE_PARM_DESC(blocking, "of mq: the driver may sleep (default no; sparse always)");

static bool per_node;
module_param(per_node, bool, 0444);
MODULE_PARM_DESC(per_node, "of mq: a submit queue per NUMA node (default no)");

static char *completion = "inline";
module_param(completion, charp, 0444);
MODULE_PARM_DESC(completion, "inline, softirq or timer (default inline)");

static unsigned long long completion_ns;
module_param(completion_ns, ullong, 0444);
MODULE_PARM_DESC(completion_ns, "with completion=timer: ns until the end (default 10000)");

static char *jitter = "";
module_param(jitter, charp, 0444);
MODULE_PARM_DESC(jitter, "with completion=timer: none, uniform or exponential (default none)");

static unsigned long long jitter_ns;
module_param(jitter_ns, ullong, 0444);
MODULE_PARM_DESC(jitter_ns, "uniform: so much sooner or later; exponential: mean of what is added");

static char *profile = "none";
module_param(profile, charp, 0444);
MODULE_PARM_DESC(profile, "accounting profile (default none)");

static int node = NUMA_NO_NODE;
module_param(node, int, 0444);
MODULE_PARM_DESC(node, "NUMA node of the data (default -1: any)");

static bool readonly;
module_param(readonly, bool, 0444);
MODULE_PARM_DESC(readonly, "refuse writes (default no)");

static int run_add(struct tally_request *rq)
{
	struct tally_ram_add *req = rq->arg;

	return tally_ram_create(req, rq->head->flags, rq);
}

static struct tally_ram *ram_get(const struct tally_ref *ref,
				 struct tally_request *rq)
{
	struct tally_disk *td = tally_disk_get(ref, TALLY_KIND_RAM, rq);

	return IS_ERR(td) ? ERR_CAST(td) : td_to_ram(td);
}

static int run_remove(struct tally_request *rq)
{
	struct tally_ram_remove *req = rq->arg;
	struct tally_ram *r = ram_get(&req->ref, rq);
	int err;

	if (IS_ERR(r))
		return PTR_ERR(r);
	err = tally_ram_destroy(r, rq->head->flags & TALLY_RAM_FORCE, rq);
	tally_disk_put(&r->td);
	return err;
}

static int run_set(struct tally_request *rq)
{
	struct tally_ram_set *req = rq->arg;
	struct tally_ram *r;
	int err;

	err = tally_check_string(rq, "setting", req->setting,
				 sizeof(req->setting)) ?:
	      tally_check_string(rq, "value", req->value, sizeof(req->value));
	if (err)
		return err;
	r = ram_get(&req->ref, rq);
	if (IS_ERR(r))
		return PTR_ERR(r);
	err = ram_setting_set(r, req->setting, req->value, rq);
	tally_disk_put(&r->td);
	return err;
}

static int run_settings(struct tally_request *rq)
{
	struct tally_ram_settings *req = rq->arg;
	struct tally_ram *r = ram_get(&req->ref, rq);
	char text[RAM_SETTINGS_LEN];
	int len;

	if (IS_ERR(r))
		return PTR_ERR(r);
	len = ram_settings_text(r, text, sizeof(text));
	tally_disk_put(&r->td);
	return tally_answer(req->buf, req->buf_len, &req->buf_used, text, len);
}

static const struct tally_command rows[] = {
	TALLY_COMMAND(RAM_ADD, tally_ram_add, run_add,
		      .flags = TALLY_RAM_FLAGS),
	TALLY_COMMAND(RAM_REMOVE, tally_ram_remove, run_remove,
		      .flags = TALLY_RAM_FORCE, .noio = true),
	TALLY_COMMAND(RAM_SET, tally_ram_set, run_set, .noio = true),
	TALLY_COMMAND(RAM_SETTINGS, tally_ram_settings, run_settings),
};

static struct tally_commands commands = {
	.owner		= THIS_MODULE,
	.feature	= TALLY_FEATURE_RAM,
	.list		= rows,
	.count		= ARRAY_SIZE(rows),
};

/* A word of the parameters, and where it goes; what does not fit is refused. */
static int copy_words(struct tally_ram_add *req)
{
	const struct {
		const char *name;
		const char *value;
		char *field;
		size_t size;
	} words[] = {
#define WORD(word)	{ #word, word, req->word, sizeof(req->word) }
		WORD(profile), WORD(backing), WORD(store), WORD(queue),
		WORD(completion), WORD(jitter),
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		if (strscpy(words[i].field, words[i].value,
			    words[i].size) >= 0)
			continue;
		pr_err("tally_ram: %s=%.32s: over %zu bytes\n", words[i].name,
		       words[i].value, words[i].size - 1);
		return -EINVAL;
	}
	return 0;
}

static u32 flags_of_parameters(void)
{
	return (readonly ? TALLY_RAM_READONLY : 0) |
	       (rotational ? TALLY_RAM_ROTATIONAL : 0) |
	       (no_discard ? TALLY_RAM_NO_DISCARD : 0) |
	       (virt_boundary ? TALLY_RAM_VIRT_BOUNDARY : 0) |
	       (shared_tags ? TALLY_RAM_MQ_SHARED_TAGS : 0) |
	       (tag_bitmap ? TALLY_RAM_MQ_TAG_BITMAP : 0) |
	       (no_sched ? TALLY_RAM_MQ_NO_SCHED : 0) |
	       (blocking ? TALLY_RAM_MQ_BLOCKING : 0) |
	       (per_node ? TALLY_RAM_MQ_PER_NODE : 0);
}

/* The request that the parameters spell. */
static int request_of_parameters(struct tally_ram_add *req)
{
	memset(req, 0, sizeof(*req));
	if (size_mb > ULLONG_MAX >> 20) {
		pr_err("tally_ram: size_mb=%lu: at most %llu\n", size_mb,
		       ULLONG_MAX >> 20);
		return -EINVAL;
	}
	if (!block_bytes) {
		pr_err("tally_ram: block_size=0: must be a power of two from 512 to %lu\n",
		       PAGE_SIZE);
		return -EINVAL;
	}
	req->sectors = (u64)size_mb << (20 - SECTOR_SHIFT);
	req->block_size = block_bytes;
	req->completion_ns = completion_ns;
	req->jitter_ns = jitter_ns;
	req->node = node;
	req->submit_queues = submit_queues;
	req->poll_queues = poll_queues;
	req->depth = depth;
	req->max_sectors = max_sectors;
	req->io_min = io_min;
	req->io_opt = io_opt;
	return copy_words(req);
}

struct creation {
	struct work_struct work;
	int err;
};

static void create_disks(struct work_struct *work)
{
	struct creation *c = container_of(work, struct creation, work);
	struct tally_request *rq;
	struct tally_ram_add *req;
	unsigned int i;

	rq = kzalloc(sizeof(*rq), GFP_KERNEL);
	req = kzalloc(sizeof(*req), GFP_KERNEL);
	c->err = rq && req ? 0 : -ENOMEM;
	for (i = 0; i < nr_devices && !c->err; i++) {
		c->err = request_of_parameters(req);
		if (c->err)
			break;
		c->err = tally_ram_create(req, flags_of_parameters(), rq);
		if (c->err)
			pr_err("tally_ram: disk %u: %s\n", i,
			       *rq->reason ? rq->reason : "not enough memory");
	}
	kfree(req);
	kfree(rq);
}

static int __init tally_ram_init(void)
{
	struct creation c;
	int err;

	/*
	 * Not by this task: since 6.9 adding a disk opens it as a file, to look
	 * for partitions, and a task closes such files only on its way back to
	 * user space.  Were a later disk refused, we would wait here for our
	 * own opens of the earlier ones.
	 */
	INIT_WORK_ONSTACK(&c.work, create_disks);
	queue_work(system_dfl_wq, &c.work);
	flush_work(&c.work);
	destroy_work_on_stack(&c.work);
	flush_delayed_fput();	/* closed before anybody may ask to remove one */
	err = c.err;
	if (err)
		goto destroy;
	err = tally_commands_register(&commands);
	if (err)
		goto destroy;
	return 0;

destroy:
	tally_ram_destroy_all();
	return err;
}

static void __exit tally_ram_exit(void)
{
	tally_commands_unregister(&commands);
	tally_ram_destroy_all();
}

module_init(tally_ram_init);
module_exit(tally_ram_exit);

MODULE_DESCRIPTION("blktally: null and RAM disks with switchable accounting");
MODULE_AUTHOR("The blktally developers");
MODULE_VERSION(TALLY_VERSION);
MODULE_LICENSE("GPL");
