/* SPDX-License-Identifier: Apache-2.0
 * cycles.h - components of the graph of states: found by cycles.c, walked around by tour.c.
 *
 * Spec  none. Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_CYCLES_H
#define WP_EXPLORER_CYCLES_H

#include "state_space.h"

#define EXPLORE_DONE UINT32_C(0x80000000) /* the rest is the component's number */

typedef struct explore_list {
	uint32_t *items;
	uint32_t count, room;
} explore_list;

/* A bit per thread: what can be said of one state or of a whole component. */
typedef struct explore_crew {
	unsigned ended, stepped, unable, drained, empty;
} explore_crew;

/* False: no memory. */
bool explore_list_push(explore_list *list, uint32_t item);

/* Where the choice leads; EXPLORE_NONE: beyond what was explored, or nobody may rely on it. */
uint32_t explore_cycle_target(explore_space *space, int choice);

/* What holds in the loaded state: who has ended, who cannot move, whose buffer is empty. */
explore_crew explore_cycle_look(explore_space *space);

/* Fills in the counterexample: the way to state `first`, then once around its component, which is
 * the states with the same number. */
void explore_cycle_show(explore_space *space, const uint32_t *numbers, uint32_t first,
			explore_outcome *outcome);

#endif
