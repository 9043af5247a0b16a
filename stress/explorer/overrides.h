/* SPDX-License-Identifier: Apache-2.0
 * overrides.h - orders that the command line puts in place of those in the source: --order
 * guard.h:120=relaxed. compiled_steps.c looks a site up here. */
#ifndef WP_EXPLORER_OVERRIDES_H
#define WP_EXPLORER_OVERRIDES_H

#include "program.h"

enum { EXPLORE_OVERRIDES = 64 };

typedef struct explore_override {
	const char *file; /* base name */
	int line;
	enum explore_order order;
} explore_override;

/* Written by options.c before anything is explored. */
extern explore_override explore_overrides[EXPLORE_OVERRIDES];
extern int explore_overrides_count;

/* Turns of a loop that waits and changes memory, per actor; 0: no bound. As explore_overrides. */
extern uint64_t explore_turns_most;

/* Waits of an actor that a signal interrupts, at the most: as many as wake spuriously. */
extern uint64_t explore_interrupts_most;

/* Heavy fences of an actor that fail, at the most. */
extern uint64_t explore_failing_heavy_most;

/* A wait empties its thread's store buffer (TSO), or is a full fence (linux_futex). */
extern bool explore_waits_are_fences;

#endif
