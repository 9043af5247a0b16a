/* SPDX-License-Identifier: Apache-2.0
 * cycles.h - strongly connected components of the graph of states: cycles.c finds them, tour.c
 * walks around one.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_CYCLES_H
#define WP_EXPLORER_CYCLES_H

#include "state_space.h"

#define EXPLORE_DONE UINT32_C(0x80000000) /* the other bits are the number of the component */

typedef struct explore_list {
	uint32_t *items;
	uint32_t count, room;
} explore_list;

/* One bit per thread: what holds in one state, or somewhere in a component. */
typedef struct explore_crew {
	unsigned ended, stepped, unable, drained, empty;
} explore_crew;

/* False: no memory. */
bool explore_list_push(explore_list *list, uint32_t item);

/* The state to which the choice leads. EXPLORE_NONE: the state was not explored, or the choice is
 * one that fairness does not promise. */
uint32_t explore_cycle_target(explore_space *space, int choice);

/* What holds in the loaded state: which threads have ended or cannot move, which buffers are
 * empty. */
explore_crew explore_cycle_look(explore_space *space);

/* Fills in the counterexample: the way to state `first`, then once around its component, which
 * consists of the states with the same number. */
void explore_cycle_show(explore_space *space, const uint32_t *numbers, uint32_t first,
			explore_outcome *outcome);

#endif
