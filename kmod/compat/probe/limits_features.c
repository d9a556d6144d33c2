// SPDX-License-Identifier: GPL-2.0-only
/* 6.11 (1122c0c1cc71): features live in the queue limits */
#include <linux/blkdev.h>
blk_features_t probe(struct queue_limits *lim);
blk_features_t probe(struct queue_limits *lim)
{
	return lim->features & (BLK_FEAT_NOWAIT | BLK_FEAT_IO_STAT);
}
