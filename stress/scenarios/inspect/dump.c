/* SPDX-License-Identifier: Apache-2.0
 * dump.c - the stack in a dump belongs to one park, and dumping takes no permit.
 *
 *   dump                          carrier
 *   check; low, high; check       unpark; run: low, high := 1; park
 *
 * Result        `dump`: the stack shown.
 * Why it works  The stack is two words, each the number of the run that wrote it.
 * Spec          specs/inspect/Dump.tla. */
#include "thread/snapshot.h"
#include "stress.h"
#include "scenarios/thread/vthread_run.h"

enum { NOTHING = 0, TORN = 9 }; /* otherwise 1 + the number of the park */

struct stack {
	struct state state;
	wp_atomic(uint32_t) low, high;
};

/* The thread is in park 0. */
STRESS_INIT_OF(stack, init_parked)
{
	init(&state->state);
	wp_init(&state->low, 0);
	wp_init(&state->high, 0);
	run(&state->state);
	park(&state->state);
}

STRESS_ACTOR_OF(stack, carrier)
{
	wp__vthread_notify(&state->state.thread);
	run(&state->state);
	wp_store_relaxed(&state->low, state->state.returned);
	wp_store_relaxed(&state->high, state->state.returned);
	park(&state->state);
}

STRESS_ACTOR_OF(stack, dump)
{
	uint32_t word = wp__dump_look(&state->state.thread), low, high;

	result->r[0] = NOTHING;
	if ((word & WP_VTHREAD_STATE) != WP_TASK_PARKED)
		return;
	low = wp_load_relaxed(&state->low);
	high = wp_load_relaxed(&state->high);
	word = wp__dump_is_still(&state->state.thread, word) ? word / WP_VTHREAD_NUMBER
							     : UINT32_MAX;
	if (word != UINT32_MAX)
		result->r[0] = low == word && high == word ? 1 + word : TORN;
}

STRESS_TEST(dump, .claim = "The stack that a dump shows was read during one park.",
	    .upholds = "Dump!StackIsWhole", .state_size = sizeof(struct stack), .init = init_parked,
	    .actors = {carrier, dump}, .results = 1, .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED, "the stack from before the run"},
		    {"2", REQUIRED, "the stack from after the run"},
		    {"0", ACCEPTABLE, "the thread ran meanwhile: no stack is shown"},
		    {"*", FORBIDDEN, "torn: half of each stack is shown"},
	    });

/* The thread is parked; another unparks it. Result: "it runs". */
STRESS_ACTOR_OF(stack, unparker)
{
	pay(&state->state, wp__vthread_notify(&state->state.thread));
}

STRESS_ACTOR_OF(stack, looks)
{
	uint32_t word = wp__dump_look(&state->state.thread);

	wp__dump_is_still(&state->state.thread, word);
}

STRESS_ACTOR_OF(stack, run_rest)
{
	if (wp_mpsc_pop(&state->state.queue) == NULL)
		return;
	run(&state->state);
	result->r[0] = state->state.thread.was_unparked;
}

STRESS_TEST(dump_unpark, .claim = "A dump takes no permit away.", .upholds = "Dump!UnparkIsKept",
	    .state_size = sizeof(struct stack), .init = init_parked, .actors = {unparker, looks},
	    .arbiter = run_rest, .results = 1, .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED,
		     "the thread was unparked: it runs, and its park returns the permit"},
		    {"*", FORBIDDEN, "lost permit: the thread does not run"},
	    });
