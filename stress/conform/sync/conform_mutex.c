/* SPDX-License-Identifier: Apache-2.0
 * conform_mutex.c - the threads of specs/sync/Mutex.tla, which lock and unlock for ever.
 *
 *   thread
 *   lock, until a deadline; had: unlock
 *
 * Why it works  The threads are OS threads, which sleep in the futex of their waiter. The deadline
 *               of a thread that has one may come at any time while it sleeps.
 * Spec          specs/sync/Mutex.tla. Compared by wakeproof conform -t mutex. */
#include "sync/mutex.h"
#include "litmus.h"
#include "stress.h"

enum { THREADS = 2, LATE = 1 };

struct state {
	wp_mutex mutex;
	_Alignas(WP_LINE) wp_waiter waiters[THREADS];
};

/* python/wakeproof/judge/conform/maps/mutex.py reads the state at these places. */
_Static_assert(offsetof(struct state, mutex.word) == 0, "WORD");
_Static_assert(offsetof(struct state, mutex.lock.state) == 4, "LOCK");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");

STRESS_INIT(init)
{
	wp_mutex_init(&state->mutex);
	for (int index = 0; index < THREADS; index++)
		wp__waiter_init(&state->waiters[index], NULL, NULL);
}

_Noreturn static void goes_round(struct state *state, int index, int64_t until_ns)
{
	wp_waiter *waiter = &state->waiters[index];

	for (;;) {
		litmus_store(&waiter->state, WP_WAITER_WAITS, relaxed); /* [Begin] */
		if (wp__mutex_lock(&state->mutex, waiter, until_ns) == WP_OK)
			wp_mutex_unlock(&state->mutex);
	}
}

STRESS_ACTOR_CALL(stays, goes_round(state, 0, WP_FOREVER))
STRESS_ACTOR_CALL(leaves, goes_round(state, 1, LATE))

STRESS_TEST(conform_mutex, .claim = "The compiled mutex is the specified one.",
	    .upholds = "Mutex!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {stays, leaves}, .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "it waits"}, {"stuck", ACCEPTABLE, "it goes on"}});
