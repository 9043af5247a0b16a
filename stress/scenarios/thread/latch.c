/* SPDX-License-Identifier: Apache-2.0
 * latch.c - one event: nobody sleeps past it, and all see what came before.
 *
 *   opener           OS thread        virtual thread     result of `latch`: "data seen" by both
 *   data := 1        wait             wait
 *   open             data?            data?
 *
 * Why it works  All really sleep: the OS thread in its futex, the carrier of the virtual one in its
 *               queue.
 * Spec          specs/thread/Latch.tla. */
#include "thread/latch.h"
#include "stress.h"
#include "virtual.h"

struct state {
	wp_latch latch;
	struct virtual virtual;
	wp_waiter waiters[2];
	uint32_t data; /* plain: the latch hands it over */
};

STRESS_INIT(init)
{
	wp_latch_init(&state->latch);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
}

STRESS_ACTOR(opener)
{
	state->data = 1;
	wp_latch_open(&state->latch);
}

STRESS_ACTOR(os_thread)
{
	wp__latch_wait(&state->latch, &state->waiters[0], WP_FOREVER);
	result->r[0] = state->data;
}

STRESS_ACTOR(virtual_thread)
{
	wp_waiter *waiter = &state->waiters[1];

	if (!wp__latch_begin(&state->latch, waiter))
		do
			virtual_park(&state->virtual);
		while (!wp__latch_check(&state->latch, waiter));
	result->r[1] = state->data;
}

STRESS_TEST(latch, .claim = "Who waits for the event is woken, and sees what came before it.",
	    .upholds = "Latch!TerminationVisible", .state_size = sizeof(struct state), .init = init,
	    .actors = {opener, os_thread, virtual_thread}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "both are awake, with the data"},
		    {"asleep", FORBIDDEN, "it is open, and somebody sleeps"},
		    {"*,*", FORBIDDEN, "awake without the data"},
	    });

/* Too late, or just in time; then its memory is used for something else. Result: "opened without
 * the data, memory written to". */
STRESS_ACTOR(hasty)
{
	if (wp_latch_is_open(&state->latch) ||
	    wp__latch_wait(&state->latch, &state->waiters[0], 1) == WP_OK)
		result->r[0] = state->data != 1;
	state->waiters[0].number = 7;
	wp_store_relaxed(&state->waiters[0].state, 7);
}

STRESS_ACTOR(look)
{
	result->r[1] = wp_load_relaxed(&state->waiters[0].state) != 7;
}

STRESS_TEST(latch_late, .claim = "A waiter that has left is not touched any more.",
	    .upholds = "Latch!UntouchedAfterOpen", .state_size = sizeof(struct state), .init = init,
	    .actors = {opener, hasty}, .arbiter = look, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "it left in time, or was granted"},
		    {"*,*", FORBIDDEN, "opened without the data; or written to after it left"},
	    });
