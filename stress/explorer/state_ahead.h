/* SPDX-License-Identifier: Apache-2.0
 * state_ahead.h - several threads find out where states lead, before the search comes to them.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_ahead.py. */
#ifndef WP_EXPLORER_STATE_AHEAD_H
#define WP_EXPLORER_STATE_AHEAD_H

#include "state_space.h"

/* What was found out about one state. */
typedef struct explore_foreseen {
	const uint32_t *words; /* its edges; see explore_ahead_edge */
	uint16_t edges;
	bool is_end; /* no thread moves, except by a spurious wakeup */
	bool is_cut; /* the bound on preemptions forbids a choice */
} explore_foreseen;

/* One edge. EXPLORE_NONE: the state was not in the table when the threads looked. */
typedef struct explore_edge {
	uint32_t to;
	bool is_promised; /* see explore_is_promised */
	uint64_t hash;
	const uint32_t *record;
} explore_edge;

void explore_ahead_free(struct explore_ahead *ahead);

/* Call this before the search expands the state. The threads start when enough states are queued.
 * Returns true if the state was foreseen. Otherwise the search has to expand it. */
bool explore_ahead_of(explore_space *space, uint32_t state, explore_foreseen *foreseen);

/* Reads the next edge and moves `words` on to the one after it. */
explore_edge explore_ahead_edge(const explore_space *space, const uint32_t **words);

/* Forgets the states that were foreseen, because the space is emptied. */
void explore_ahead_reset(struct explore_ahead *ahead);

#endif
