// SPDX-License-Identifier: GPL-2.0-only
/* 6.9 (74fa8f9c553f): blk_alloc_disk() takes queue limits, returns ERR_PTR */
#include <linux/blkdev.h>
struct gendisk *probe(struct queue_limits *lim);
struct gendisk *probe(struct queue_limits *lim)
{
	return blk_alloc_disk(lim, NUMA_NO_NODE);
}
