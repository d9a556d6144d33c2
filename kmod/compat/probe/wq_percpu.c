// SPDX-License-Identifier: GPL-2.0-only
/* 6.17 (930c2ea566af): a workqueue says that it is per CPU; later on it must */
#include <linux/workqueue.h>
struct workqueue_struct *probe(void);
struct workqueue_struct *probe(void)
{
	return alloc_workqueue("probe", WQ_PERCPU, 0);
}
