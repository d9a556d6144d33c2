// SPDX-License-Identifier: GPL-2.0-only
/*
 * bdev_count_inflight() looks at one block device. It has no business here but
 * for what came with it: an I/O to a partition is counted on the disk as well.
 */
#include <linux/part_stat.h>
unsigned int probe(struct block_device *bdev);
unsigned int probe(struct block_device *bdev)
{
	return bdev_count_inflight(bdev);
}
