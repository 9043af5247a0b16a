/* SPDX-License-Identifier: Apache-2.0
 * strategy.c - what somebody asks for is produced, by one thread at a time.
 *
 *   each                                    `strategy`: "left to produce"
 *   items++; produce, or dispatch
 *
 * Spec          specs/pool/Strategy.tla. */
#include "strategies.h"

STRESS_INIT(init)
{
	init_as(state, WP_NON_BLOCKING, produce, start, try_start);
}

STRESS_INIT(init_watched)
{
	init_as(state, WP_NON_BLOCKING, produce_watched, start, try_start);
}

STRESS_TEST(strategy_role, .claim = "One thread at a time produces, and what was asked for.",
	    .upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	    .init = init_watched, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"*,*,1", FORBIDDEN, "two produce at once"},
		    {"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	    });

STRESS_TEST(strategy_dispatch, .claim = "So it is when another thread is to produce.",
	    .upholds = "Strategy!NoLostProduction", .state_size = sizeof(struct state),
	    .init = init, .actors = {dispatches, dispatches, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"0,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
		    {"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	    });

/* Result: "counted as to come, but for whom the pool has". */
STRESS_ACTOR(read_pending)
{
	uint64_t word = wp_load_relaxed(&state->strategy.word);

	result->r[0] = (int32_t)(uint32_t)(word >> 32) - (int32_t)wp_load_relaxed(&state->starts);
}

STRESS_TEST(strategy_pending, .claim = "Who was started is counted until it comes.",
	    .upholds = "Strategy!PendingAccounting", .state_size = sizeof(struct state),
	    .init = init, .actors = {dispatches, dispatches, pool}, .arbiter = read_pending,
	    .results = 1,
	    .outcomes = {
		    {"0", REQUIRED, "as many as the pool has not begun"},
		    {"*", FORBIDDEN, "more, or less"},
	    });

/* The pool refuses the first. */
static int start_second(void *arg)
{
	struct state *state = arg;

	if (state->has_refused)
		return start(arg);
	state->has_refused = true;
	return WP_REFUSED;
}

/* A start that was refused: the caller asks again. */
STRESS_INIT(init_refusing)
{
	init_as(state, WP_NON_BLOCKING, produce, start_second, try_start);
}

STRESS_ACTOR(dispatches_again)
{
	wp_fetch_add_relaxed(&state->items, 1);
	if (wp_strategy_dispatch(&state->strategy) != WP_OK)
		wp_strategy_dispatch(&state->strategy);
}

STRESS_TEST(strategy_refused,
	    .claim = "A refused start is the caller's to know, and nobody waits for it.",
	    .upholds = "Strategy!RejectionIsReported", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {dispatches_again, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "it asked again"},
		    {"*,*,*", FORBIDDEN, "who was refused is thought to come"},
	    });

STRESS_TEST(strategy_seen,
	    .claim = "What was asked for is produced, by who sees what the last one did.",
	    .upholds = "Strategy!ProductionBegins", .state_size = sizeof(struct state),
	    .init = init, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	    });
