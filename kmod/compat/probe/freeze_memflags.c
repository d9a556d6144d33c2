// SPDX-License-Identifier: GPL-2.0-only
/* 6.14 (1e1a9cecfab3): blk_mq_freeze_queue() returns memory flags */
#include <linux/blk-mq.h>
unsigned int probe(struct request_queue *q);
unsigned int probe(struct request_queue *q) { return blk_mq_freeze_queue(q); }
