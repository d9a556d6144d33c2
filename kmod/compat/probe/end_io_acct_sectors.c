// SPDX-License-Identifier: GPL-2.0-only
/* 6.3 (5f2755297100): bdev_end_io_acct() takes the sectors */
#include <linux/blkdev.h>
void probe(struct block_device *bdev);
void probe(struct block_device *bdev)
{
	bdev_end_io_acct(bdev, REQ_OP_READ, 8, jiffies);
}
