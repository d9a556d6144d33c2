// SPDX-License-Identifier: GPL-2.0-only
/* tally_gen: a load generator inside the kernel. */
#include <linux/module.h>

#include "gen/gen.h"

static int run_gen(struct tally_request *rq)
{
	struct tally_gen_run *req = rq->arg;
	struct gen_run *run = gen_run_create(req, rq->head->flags, rq);
	int err;

	if (IS_ERR(run))
		return PTR_ERR(run);
	err = gen_run_carry_out(run, req);
	gen_run_put(run);
	return err;
}

static const struct tally_command rows[] = {
	{
		.nr = _IOC_NR(TALLY_GEN_RUN), .name = "GEN_RUN",
		.size = sizeof(struct tally_gen_run),
		.min = sizeof(struct tally_gen_run),
		.flags = TALLY_GEN_WRITE | TALLY_GEN_RANDOM | TALLY_GEN_FORCE,
		.run = run_gen,
	},
};

static struct tally_commands commands = {
	.owner		= THIS_MODULE,
	.feature	= TALLY_FEATURE_GEN,
	.list		= rows,
	.count		= ARRAY_SIZE(rows),
};

static int __init tally_gen_init(void)
{
	return tally_commands_register(&commands);
}

/* No thread is left: each holds a reference on the module. */
static void __exit tally_gen_exit(void)
{
	tally_commands_unregister(&commands);
}

module_init(tally_gen_init);
module_exit(tally_gen_exit);

MODULE_DESCRIPTION("blktally: load generator inside the kernel");
MODULE_AUTHOR("The blktally developers");
MODULE_VERSION(TALLY_VERSION);
MODULE_LICENSE("GPL");
