// SPDX-License-Identifier: GPL-2.0-only
/* 6.2 (483239c75ba7): waits for the dispatch of a whole tag set */
#include <linux/blk-mq.h>
void probe(struct blk_mq_tag_set *set);
void probe(struct blk_mq_tag_set *set)
{
	blk_mq_wait_quiesce_done(set);
}
