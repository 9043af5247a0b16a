/* SPDX-License-Identifier: Apache-2.0
 * overrides.h - memory orders from the command line, which replace those in the source: --order
 * guard.h:120=relaxed. compiled_steps.c looks each site up here. */
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

/* Most turns, per actor, of a loop that waits and changes memory. 0: no bound. Written as
 * explore_overrides. */
extern uint64_t explore_turns_most;

/* Most waits of an actor that a signal interrupts: as many as may wake spuriously. */
extern uint64_t explore_interrupts_most;

/* Most heavy fences of an actor that fail. */
extern uint64_t explore_failing_heavy_most;

/* A wait empties the store buffer of its thread (TSO), or is a full fence (linux_futex). */
extern bool explore_waits_are_fences;

#endif
