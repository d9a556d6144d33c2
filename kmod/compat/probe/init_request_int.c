// SPDX-License-Identifier: GPL-2.0-only
/* 7.x: ->init_request() gets the NUMA node as the int that it is */
#include <linux/blk-mq.h>
typedef int init_fn(struct blk_mq_tag_set *set, struct request *rq,
		    unsigned int hctx, int node);
void probe(struct blk_mq_ops *ops, init_fn *fn);
void probe(struct blk_mq_ops *ops, init_fn *fn)
{
	ops->init_request = fn;
}
