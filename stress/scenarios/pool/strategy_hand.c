/* SPDX-License-Identifier: Apache-2.0
 * strategy_hand.c - who has a task that may block leaves production to another.
 *
 *   who produces                            another
 *   a task: leave, start somebody, run it   produce
 *   refused: come back; the pool has it
 *
 * Spec          specs/pool/Strategy.tla. */
#include "strategies.h"

/* Tasks that may block: who produced runs them, another produces on. */
STRESS_INIT(init_blocking)
{
	init_as(state, WP_BLOCKING, produce, start, try_start);
	wp_init(&state->items, 1);
}

STRESS_TEST(strategy_hand, .claim = "Who comes sees what was produced by who left for a task.",
	    .upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	    .init = init_blocking, .actors = {asks, pool}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	    });

STRESS_INIT(init_blocking_watched)
{
	init_as(state, WP_BLOCKING, produce_watched, start, try_start);
}

STRESS_TEST(strategy_after, .claim = "After its task it produces on, if nobody does.",
	    .upholds = "Strategy!ExceptionDoesNotChangeRole", .state_size = sizeof(struct state),
	    .init = init_blocking_watched, .actors = {asks, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"*,*,1", FORBIDDEN, "two produce at once"},
		    {"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	    });

/* Result: ".., started". */
static bool try_counted(void *arg)
{
	wp_fetch_add_relaxed(&((struct state *)arg)->met, 1);
	return try_start(arg);
}

STRESS_INIT(init_counted)
{
	init_as(state, WP_BLOCKING, produce, start, try_counted);
}

STRESS_TEST(strategy_early, .claim = "Who is started follows, however early it comes.",
	    .upholds = "Strategy!StarterHasLeft", .state_size = sizeof(struct state),
	    .init = init_counted, .actors = {asks, pool}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,1", ACCEPTABLE, "one is started for the task"},
		    {"0,1,2", FORBIDDEN, "the first was started for nothing"},
		    {"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	    });

/* Nobody is to be had: the pool has the task, unless another has begun to produce meanwhile. */
static bool try_nobody(void *arg)
{
	return false;
}

/* The task: how often somebody has looked so far. */
static void *produce_counted(void *arg)
{
	struct state *state = arg;
	uint32_t looks = wp_fetch_add_relaxed(&state->inside, 1) + 1;

	return produce(arg) == NULL ? NULL : (void *)(uintptr_t)looks;
}

static void run_followed(void *arg, void *task)
{
	struct state *state = arg;

	if (wp_load_acquire(&state->strategy.word) == WP_STRATEGY_IDLE &&
	    wp_load_relaxed(&state->inside) == (uint32_t)(uintptr_t)task)
		wp_store_relaxed(&state->met, 1);
}

/* Result: ".., somebody runs a task that may block, and nobody has followed". */
STRESS_INIT(init_busy)
{
	init_as(state, WP_BLOCKING, produce_counted, start, try_nobody);
	state->strategy.config.run = run_followed;
}

STRESS_TEST(strategy_alone, .claim = "Who leaves for a task that may block is followed.",
	    .upholds = "Strategy!EpcRequiresSuccessor", .state_size = sizeof(struct state),
	    .init = init_busy, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "the pool has the tasks, or another produces"},
		    {"*,*,*", FORBIDDEN, "it left, and nobody was started"},
	    });

STRESS_INIT(init_busy_watched)
{
	init_as(state, WP_BLOCKING, produce_watched, start, try_nobody);
}

STRESS_TEST(strategy_back, .claim = "Who finds nobody to follow produces on, if nobody does.",
	    .upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	    .init = init_busy_watched, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		    {"*,*,1", FORBIDDEN, "two produce at once"},
		    {"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	    });

STRESS_TEST(strategy_relied,
	    .claim = "Who relied on a start that failed is served by whose it was.",
	    .upholds = "Strategy!RejectionIsReported", .state_size = sizeof(struct state),
	    .init = init_busy, .actors = {asks, dispatches}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "all is produced, and nobody is to come"},
		    {"*,*,*", FORBIDDEN, "who was refused is thought to come"},
	    });
