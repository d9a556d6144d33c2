// SPDX-License-Identifier: GPL-2.0-only
/* debugfs blktally/: tables for people, without any promise. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "core/internal.h"

static struct dentry *root;

static int commands_show(struct seq_file *m, void *unused)
{
	tally_commands_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(commands);

/* Nothing depends on debugfs: failures leave it empty. */
void tally_debugfs_init(void)
{
	root = debugfs_create_dir("blktally", NULL);
	debugfs_create_file("commands", 0400, root, NULL, &commands_fops);
}

void tally_debugfs_exit(void)
{
	debugfs_remove(root);
}
