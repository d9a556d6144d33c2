/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#include <linux/stringify.h>

#define TALLY_VERSION_MAJOR	0
#define TALLY_VERSION_MINOR	1
#define TALLY_VERSION_PATCH	0
#define TALLY_VERSION						\
	__stringify(TALLY_VERSION_MAJOR) "."			\
	__stringify(TALLY_VERSION_MINOR) "."			\
	__stringify(TALLY_VERSION_PATCH)

#endif /* TALLY_VERSION_H */
