/* SPDX-License-Identifier: Apache-2.0
 * latch.c - a latch is one event: no waiter misses it, and all see the writes before it.
 *
 *   opener           OS thread        virtual thread
 *   data := 1        wait             wait
 *   open             data?            data?
 *
 * Result        `latch`: "data seen" by both.
 * Why it works  Both waiters really sleep: the OS thread in its futex, the virtual thread's carrier
 *               in its queue.
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

STRESS_TEST(latch, .claim = "A waiter is woken by the event, and sees the writes before it.",
	    .upholds = "Latch!TerminationVisible", .state_size = sizeof(struct state), .init = init,
	    .actors = {opener, os_thread, virtual_thread}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "both waiters are awake, and see the data"},
		    {"asleep", FORBIDDEN, "lost wakeup: the latch is open, and a waiter sleeps"},
		    {"*,*", FORBIDDEN, "a waiter is awake, and does not see the data"},
	    });

/* The waiter's time runs out, or the latch opens in time; then the waiter's memory is used for
 * something else. Result: "opened without the data, memory written to". */
STRESS_ACTOR(hasty)
{
	if (wp_latch_is_open(&state->latch) ||
	    wp__latch_wait(&state->latch, &state->waiters[0], 1) == WP_OK)
		result->r[0] = state->data != 1;
	state->waiters[0].number = 7;
	wp_store_relaxed(&state->waiters[0].state, 7);
}

STRESS_ACTOR_CALL(look, result->r[1] = wp_load_relaxed(&state->waiters[0].state) != 7)

STRESS_TEST(latch_late, .claim = "A waiter that has left is not touched.",
	    .upholds = "Latch!UntouchedAfterOpen", .state_size = sizeof(struct state), .init = init,
	    .actors = {opener, hasty}, .arbiter = look, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the waiter left in time, or was granted"},
		    {"*,*", FORBIDDEN,
		     "the data is missing, or the waiter was touched after it left"},
	    });
