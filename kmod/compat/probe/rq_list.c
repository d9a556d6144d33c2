// SPDX-License-Identifier: GPL-2.0-only
/* 6.13 and late 6.12 (a3396b99990d): lists of requests have a type */
#include <linux/blk-mq.h>
void probe(struct blk_mq_ops *ops, void (*fn)(struct rq_list *list));
void probe(struct blk_mq_ops *ops, void (*fn)(struct rq_list *list))
{
	ops->queue_rqs = fn;
}
