/* SPDX-License-Identifier: Apache-2.0
 * states.h - the whole graph of states, for conformance: every state and every edge, once.
 *
 * In a counterexample of this engine, a futex wait that sleeps has the value UINT64_MAX until it is
 * woken. The event of a drain carries the step of the store that drains. A time-out and a spurious
 * wakeup are events of their own, with the step of the wait. */
#ifndef WP_EXPLORER_STATES_H
#define WP_EXPLORER_STATES_H

#include "explore.h"

/* One state. It is valid during the call. */
typedef struct explore_view {
	const uint64_t *values; /* memory, by location */
	int locations;
	explore_position positions[EXPLORE_THREADS];
	int asleep_on[EXPLORE_THREADS]; /* location; -1: awake */
	int buffered[EXPLORE_THREADS];  /* TSO: the number of buffered stores */
	const struct explore_buffered *buffers[EXPLORE_THREADS]; /* state_machine.h; oldest first */
} explore_view;

/* Explores all states. Then calls `state` for every state, by index from 0 (the initial one), and
 * `edge` for every edge, after its `from` and before the next state. `step` is the step as
 * announced: for a drain a store, for a time-out the wait. `value` is what the step returned: for a
 * drain the stored value, for a wait that falls asleep EXPLORE_WOKEN. If the exploration was not
 * complete, nothing is called, and `report` (see explore.h) gives the reason. */
typedef void explore_on_state(void *own, uint32_t index, const explore_view *view);
typedef void explore_on_edge(void *own, uint32_t from, uint32_t to, int thread,
			     const explore_step *step, uint64_t value, bool is_drain);

void explore_states_graph(explore_program *program, const explore_options *options,
			  explore_on_state *state, explore_on_edge *edge, void *own,
			  explore_report *report);

#endif
