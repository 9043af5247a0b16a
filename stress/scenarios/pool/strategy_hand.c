/* SPDX-License-Identifier: Apache-2.0
 * strategy_hand.c - a thread whose task may block hands production to another thread.
 *
 *   producer                                another
 *   task: leave, start another, run it      produce
 *   refused: return; the pool has it
 *
 * Spec          specs/pool/Strategy.tla. */
#include "strategies.h"

/* Tasks may block: the thread that produced them runs them, and another goes on producing. */
STRESS_INIT(init_blocking)
{
	init_as(state, WP_BLOCKING, produce, start, try_start);
	wp_init(&state->items, 1);
}

STRESS_TEST(strategy_hand, .claim = "A new producer sees everything that the former producer did.",
	    .upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	    .init = init_blocking, .actors = {asks, pool}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE,
		     "every item is produced, and no thread produces any more"},
		    {"*,*,*", FORBIDDEN,
		     "a thread that will never come is counted as producing, or as coming"},
	    });

STRESS_INIT(init_blocking_watched)
{
	init_as(state, WP_BLOCKING, produce_watched, start, try_start);
}

STRESS_TEST(strategy_after,
	    .claim = "After its task a thread produces again, unless another thread produces.",
	    .upholds = "Strategy!ExceptionDoesNotChangeRole", .state_size = sizeof(struct state),
	    .init = init_blocking_watched, .actors = {asks, pool}, .arbiter = read_left,
	    .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE,
		     "every item is produced, and no thread produces any more"},
		    {"*,*,1", FORBIDDEN, "two threads produce at once"},
		    {"*,*,*", FORBIDDEN,
		     "a thread that will never come is counted as producing, or as coming"},
	    });

/* Result: ".., threads started". */
static bool try_counted(void *arg)
{
	wp_fetch_add_relaxed(&((struct state *)arg)->met, 1);
	return try_start(arg);
}

STRESS_INIT(init_counted)
{
	init_as(state, WP_BLOCKING, produce, start, try_counted);
}

STRESS_TEST(strategy_early,
	    .claim = "A started thread takes over production, however early it arrives.",
	    .upholds = "Strategy!StarterHasLeft", .state_size = sizeof(struct state),
	    .init = init_counted, .actors = {asks, pool}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,1", ACCEPTABLE, "one thread is started for the task"},
		    {"0,1,2", FORBIDDEN, "the first start was for nothing"},
		    {"*,*,*", FORBIDDEN,
		     "a thread that will never come is counted as producing, or as coming"},
	    });

/* No thread can be started: the pool gets the task, unless another thread has begun to produce
 * meanwhile. */
static bool try_nobody(void *arg)
{
	return false;
}

/* The task is the number of looks for items so far. */
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

/* Result: ".., a thread runs a task that may block, and no thread has taken over". */
STRESS_INIT(init_busy)
{
	init_as(state, WP_BLOCKING, produce_counted, start, try_nobody);
	state->strategy.config.run = run_followed;
}

STRESS_TEST(strategy_alone, .claim = "A producer that runs a task that may block has a successor.",
	    .upholds = "Strategy!EpcRequiresSuccessor", .state_size = sizeof(struct state),
	    .init = init_busy, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	    .outcomes = {
		    {"0,1,0", ACCEPTABLE, "the pool has the tasks, or another thread produces"},
		    {"*,*,*", FORBIDDEN, "the producer left, and no thread was started"},
	    });

STRESS_INIT(init_busy_watched)
{
	init_as(state, WP_BLOCKING, produce_watched, start, try_nobody);
}

STRESS_TEST(
	strategy_back,
	.claim = "A thread that finds no successor produces again, unless another thread produces.",
	.upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	.init = init_busy_watched, .actors = {asks, asks}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "every item is produced, and no thread produces any more"},
		{"*,*,1", FORBIDDEN, "two threads produce at once"},
		{"*,*,*", FORBIDDEN,
		 "a thread that will never come is counted as producing, or as coming"},
	});

STRESS_TEST(
	strategy_relied,
	.claim = "A caller that relied on another's failed start is served by that start's owner.",
	.upholds = "Strategy!RejectionIsReported", .state_size = sizeof(struct state),
	.init = init_busy, .actors = {asks, dispatches}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "every item is produced, and no thread is to come"},
		{"*,*,*", FORBIDDEN, "a refused start is counted as pending"},
	});
