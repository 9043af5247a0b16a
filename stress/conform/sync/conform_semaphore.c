/* SPDX-License-Identifier: Apache-2.0
 * conform_semaphore.c - the threads of specs/sync/Semaphore.tla, which acquire and release for
 * ever.
 *
 *   thread
 *   acquire one, or two, until a deadline; had: release them
 *
 * Why it works  The threads are OS threads, which sleep in the futex of their waiter. The deadline
 *               of a thread that has one may come at any time while it sleeps.
 * Spec          specs/sync/Semaphore.tla. Compared by wakeproof conform -t semaphore. */
#include "sync/semaphore.h"
#include "litmus.h"
#include "stress.h"

enum { THREADS = 3, PERMITS = 2, LATE = 1 };

struct state {
	wp_semaphore semaphore;
	_Alignas(WP_LINE) wp_waiter waiters[THREADS];
};

/* python/wakeproof/judge/conform/maps/semaphore.py reads the state at these places. */
_Static_assert(offsetof(struct state, semaphore.word) == 0, "WORD");
_Static_assert(offsetof(struct state, semaphore.lock.state) == 4, "LOCK");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");

STRESS_INIT(init)
{
	wp_semaphore_init(&state->semaphore, PERMITS);
	for (int index = 0; index < THREADS; index++)
		wp__waiter_init(&state->waiters[index], NULL, NULL);
}

_Noreturn static void goes_round(struct state *state, int index, uint32_t permits, int64_t until_ns)
{
	wp_waiter *waiter = &state->waiters[index];

	for (;;) {
		litmus_store(&waiter->state, WP_WAITER_WAITS, relaxed); /* [Begin] */
		if (wp__semaphore_acquire(&state->semaphore, permits, waiter, until_ns) == WP_OK)
			wp_semaphore_release(&state->semaphore, permits);
	}
}

STRESS_ACTOR_CALL(takes_one, goes_round(state, 0, 1, WP_FOREVER))
STRESS_ACTOR_CALL(takes_two, goes_round(state, 1, 2, WP_FOREVER))
STRESS_ACTOR_CALL(takes_two_or_leaves, goes_round(state, 1, 2, LATE))
STRESS_ACTOR_CALL(takes_one_more, goes_round(state, 2, 1, WP_FOREVER))

STRESS_TEST(conform_semaphore, .claim = "The compiled semaphore is the specified one.",
	    .upholds = "Semaphore!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {takes_one, takes_two_or_leaves}, .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "it waits"}, {"stuck", ACCEPTABLE, "it goes on"}});
STRESS_TEST(conform_semaphore_three, .claim = "So is it with two in line.",
	    .upholds = "Semaphore!InOrder", .state_size = sizeof(struct state), .init = init,
	    .actors = {takes_one, takes_two, takes_one_more}, .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "it waits"}, {"stuck", ACCEPTABLE, "it goes on"}});
