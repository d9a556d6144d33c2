// SPDX-License-Identifier: GPL-2.0-only
/* 6.14: blk_mq_unfreeze_queue() wants what blk_mq_freeze_queue() returned */
#include <linux/blk-mq.h>
void probe(struct request_queue *q);
void probe(struct request_queue *q)
{
	blk_mq_unfreeze_queue_nomemrestore(q);
}
