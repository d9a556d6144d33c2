// SPDX-License-Identifier: GPL-2.0-only
/* Up to 6.13: a driver asks for merging */
#include <linux/blk-mq.h>
unsigned int probe(void);
unsigned int probe(void)
{
	return BLK_MQ_F_SHOULD_MERGE;
}
