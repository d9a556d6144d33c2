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

static char *completion = "inline";
module_param(completion, charp, 0444);
MODULE_PARM_DESC(completion, "inline, softirq or timer (default inline)");

static unsigned long long completion_ns;
module_param(completion_ns, ullong, 0444);
MODULE_PARM_DESC(completion_ns, "with completion=timer: ns until the end (default 10000)");

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

	return tally_ram_create(req, rq->head->flags & TALLY_RAM_READONLY, rq);
}

static int run_remove(struct tally_request *rq)
{
	struct tally_ram_remove *req = rq->arg;
	struct tally_disk *td = tally_disk_get(&req->ref, TALLY_KIND_RAM, rq);
	int err;

	if (IS_ERR(td))
		return PTR_ERR(td);
	err = tally_ram_destroy(container_of(td, struct tally_ram, td),
				rq->head->flags & TALLY_RAM_FORCE, rq);
	tally_disk_put(td);
	return err;
}

static const struct tally_command rows[] = {
	{
		.nr = _IOC_NR(TALLY_RAM_ADD), .name = "RAM_ADD",
		.size = sizeof(struct tally_ram_add),
		.min = sizeof(struct tally_ram_add),
		.flags = TALLY_RAM_READONLY, .run = run_add,
	}, {
		.nr = _IOC_NR(TALLY_RAM_REMOVE), .name = "RAM_REMOVE",
		.size = sizeof(struct tally_ram_remove),
		.min = sizeof(struct tally_ram_remove),
		.flags = TALLY_RAM_FORCE, .noio = true, .run = run_remove,
	},
};

static struct tally_commands commands = {
	.owner		= THIS_MODULE,
	.feature	= TALLY_FEATURE_RAM,
	.list		= rows,
	.count		= ARRAY_SIZE(rows),
};

/* A parameter into a field of the request; what does not fit is refused. */
static int word(char *field, size_t size, const char *name, const char *value)
{
	if (strscpy(field, value, size) >= 0)
		return 0;
	pr_err("tally_ram: %s=%.32s: over %zu bytes\n", name, value, size - 1);
	return -EINVAL;
}

/* The request that the parameters spell. */
static int request_of_parameters(struct tally_ram_add *req)
{
	int err;

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
	req->node = node;
	err = word(req->profile, sizeof(req->profile), "profile", profile);
	if (!err)
		err = word(req->backing, sizeof(req->backing), "backing",
			   backing);
	if (!err)
		err = word(req->store, sizeof(req->store), "store", store);
	if (!err)
		err = word(req->completion, sizeof(req->completion),
			   "completion", completion);
	return err;
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
		c->err = tally_ram_create(req, readonly, rq);
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
