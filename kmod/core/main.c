// SPDX-License-Identifier: GPL-2.0-only
/* tally_core: the control node, the registry of disks, and accounting. */
#include <linux/module.h>

#include "core/internal.h"

static int __init tally_core_init(void)
{
	int err = tally_commands_register(&tally_core_commands);

	if (err)
		return err;
	err = tally_control_init();
	if (err)
		goto unregister;
	tally_debugfs_init();
	return 0;

unregister:
	tally_commands_unregister(&tally_core_commands);
	return err;
}

static void __exit tally_core_exit(void)
{
	tally_debugfs_exit();
	tally_control_exit();
	tally_commands_unregister(&tally_core_commands);
}

module_init(tally_core_init);
module_exit(tally_core_exit);

MODULE_DESCRIPTION("blktally: control node and switchable I/O accounting");
MODULE_AUTHOR("The blktally developers");
MODULE_VERSION(TALLY_VERSION);
MODULE_LICENSE("GPL");
