/* SPDX-License-Identifier: Apache-2.0
 * own.h - what own.c tells other extension modules, in its capsule "wakeproof._native.own.virtual".
 */
#ifndef WP__OWN_H
#define WP__OWN_H

#include <stdbool.h>

#define WP__OWN_VIRTUAL "wakeproof._native.own.virtual"

typedef struct wp__own {
	/* Whether the calling OS thread runs a virtual thread now. [any thread | wait-free] */
	bool (*is_virtual)(void);
} wp__own;

#endif
