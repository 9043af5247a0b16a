/* SPDX-License-Identifier: Apache-2.0
 * store_buffering.c - row 6: the scenario of bare.c in the language of the stress engine.
 *
 * Each actor stores to its own word and reads the other's. All four outcomes may be seen: without a
 * fence, each may miss the store of the other. */
#include "stress.h"

struct state {
	wp_atomic(int) x, y;
};

static void left(void *at, stress_result *result)
{
	struct state *state = at;

	wp_store_relaxed(&state->x, 1);
	result->r[0] = wp_load_relaxed(&state->y);
}

static void right(void *at, stress_result *result)
{
	struct state *state = at;

	wp_store_relaxed(&state->y, 1);
	result->r[1] = wp_load_relaxed(&state->x);
}

STRESS_TEST(store_buffering, .claim = "None: this one measures the engine.", .upholds = "none",
	    .state_size = sizeof(struct state), .actors = {left, right}, .results = 2,
	    .outcomes = {{"0,0", ACCEPTABLE, "both stores waited in their buffers"},
			 {"*", ACCEPTABLE, "one saw the other"}});
