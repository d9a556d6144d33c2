// SPDX-License-Identifier: GPL-2.0-only
/* tally_map: mapped devices. */
#include <linux/module.h>

#include "map/map.h"

static struct tally_commands commands = {
	.owner		= THIS_MODULE,
	.feature	= TALLY_FEATURE_MAP,
	.list		= tally_map_rows,
};

static int __init tally_map_init(void)
{
	commands.count = tally_map_row_count;
	return tally_commands_register(&commands);
}

/* No map exists: each holds a reference on the module. */
static void __exit tally_map_exit(void)
{
	tally_commands_unregister(&commands);
	tally_map_wait_freed();
}

module_init(tally_map_init);
module_exit(tally_map_exit);

MODULE_DESCRIPTION("blktally: mapped devices with switchable accounting");
MODULE_AUTHOR("The blktally developers");
MODULE_VERSION(TALLY_VERSION);
MODULE_LICENSE("GPL");
