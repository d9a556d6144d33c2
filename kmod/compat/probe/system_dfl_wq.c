// SPDX-License-Identifier: GPL-2.0-only
/* 6.17 (128ea9f6ccfb): another name of system_unbound_wq, which is to go */
#include <linux/workqueue.h>
struct workqueue_struct *probe(void);
struct workqueue_struct *probe(void)
{
	return system_dfl_wq;
}
