/* SPDX-License-Identifier: Apache-2.0
 * strategy.c - every requested item is produced, by one thread at a time.
 *
 *   each actor
 *   items++; produce, or dispatch
 *
 * Result        `strategy`: "left to produce".
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

STRESS_TEST(strategy_role,
	    .claim = "One thread at a time produces, and every requested item is produced.",
	    .upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	    .init = init_watched, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE,
		     "every item is produced, and no thread produces any more"},
		    {"*,*,1", FORBIDDEN, "two threads produce at once"},
		    {"*,*,*", FORBIDDEN,
		     "lost wakeup: an item was requested, and no thread will produce it"},
	    });

STRESS_TEST(strategy_dispatch,
	    .claim = "One thread at a time produces when dispatch asks another thread to do it.",
	    .upholds = "Strategy!NoLostProduction", .state_size = sizeof(struct state),
	    .init = init, .actors = {dispatches, dispatches, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE,
		     "every item is produced, and no thread produces any more"},
		    {"0,*,*", FORBIDDEN,
		     "a thread that will never come is counted as producing, or as coming"},
		    {"*,*,*", FORBIDDEN,
		     "lost wakeup: an item was requested, and no thread will produce it"},
	    });

/* Result: "starts that are counted as pending, minus those that the pool has accepted". */
STRESS_ACTOR(read_pending)
{
	uint64_t word = wp_load_relaxed(&state->strategy.word);

	result->r[0] = (int32_t)(uint32_t)(word >> 32) - (int32_t)wp_load_relaxed(&state->starts);
}

STRESS_TEST(strategy_pending, .claim = "A thread that was started is counted until it arrives.",
	    .upholds = "Strategy!PendingAccounting", .state_size = sizeof(struct state),
	    .init = init, .actors = {dispatches, dispatches, pool}, .arbiter = read_pending,
	    .results = 1,
	    .outcomes = {
		    {"0", REQUIRED, "the count equals the starts that the pool has not run"},
		    {"*", FORBIDDEN, "the count is too high, or too low"},
	    });

/* The pool refuses the first start. */
static int start_second(void *arg)
{
	struct state *state = arg;

	if (state->has_refused)
		return start(arg);
	state->has_refused = true;
	return WP_REFUSED;
}

/* Dispatches; where the start was refused, the caller dispatches again. */
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
	    .claim = "A refused start is reported to its caller, and no thread waits for it.",
	    .upholds = "Strategy!RejectionIsReported", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {dispatches_again, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "the caller dispatched again"},
		    {"*,*,*", FORBIDDEN, "a refused start is counted as pending"},
	    });

STRESS_TEST(
	strategy_seen,
	.claim = "Requested items are produced by a thread that sees what the last producer did.",
	.upholds = "Strategy!ProductionBegins", .state_size = sizeof(struct state), .init = init,
	.actors = {asks, asks}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "every item is produced, and no thread produces any more"},
		{"*,*,*", FORBIDDEN,
		 "lost wakeup: an item was requested, and no thread will produce it"},
	});
