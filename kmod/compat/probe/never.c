// SPDX-License-Identifier: GPL-2.0-only
/* Must never compile */
#include <linux/blkdev.h>
int probe(struct gendisk *disk);
int probe(struct gendisk *disk) { return disk->no_such_member_ever; }
