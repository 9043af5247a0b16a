/* SPDX-License-Identifier: Apache-2.0
 * conform_latch.c - the threads of specs/thread/Latch.tla: one opens, and two wait and may be late.
 *
 *   opener          waiter
 *   work; open      wait until a deadline; report whether it is open
 *
 * Why it works  The waiters are OS threads, which sleep in their futex. The deadline may come at
 *               any time while one sleeps.
 * Spec          specs/thread/Latch.tla. Compared by wakeproof conform -t latch. */
#include "thread/latch.h"
#include "litmus.h"
#include "stress.h"

enum { WAITERS = 2, IN = 1, OUT = 2 };

struct told {
	wp_waiter waiter;
	wp_atomic(uint64_t) result; /* IN, OUT; 0: it has not returned */
};

struct state {
	wp_latch latch;
	wp_atomic(uint64_t) done;
	_Alignas(WP_LINE) struct told told[WAITERS];
};

/* python/wakeproof/judge/conform/maps/latch.py reads the state at these places. */
_Static_assert(offsetof(struct state, latch.word) == 0, "WORD");
_Static_assert(offsetof(struct state, done) == 8, "DONE");
_Static_assert(offsetof(struct state, told) == 128, "TOLD");
_Static_assert(sizeof(struct told) == 88, "EACH");
_Static_assert(offsetof(struct told, waiter.state) == 52, "STATE");
_Static_assert(offsetof(struct told, result) == 80, "RESULT");

STRESS_INIT(init)
{
	wp_latch_init(&state->latch);
	for (int index = 0; index < WAITERS; index++)
		wp__waiter_init(&state->told[index].waiter, NULL, NULL);
}

STRESS_ACTOR(opener)
{
	litmus_store(&state->done, 1, relaxed); /* [Work] */
	wp_latch_open(&state->latch);
}

static void wait(struct state *state, int index)
{
	struct told *told = &state->told[index];
	int rc = wp__latch_wait(&state->latch, &told->waiter, 1);

	litmus_store(&told->result, rc == WP_OK ? IN : OUT, relaxed); /* [Result] */
}

STRESS_ACTOR_CALL(waiter_a, wait(state, 0))
STRESS_ACTOR_CALL(waiter_b, wait(state, 1))

STRESS_TEST(conform_latch, .claim = "The compiled latch is the specified one.",
	    .upholds = "Latch!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {opener, waiter_a, waiter_b}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"}});
