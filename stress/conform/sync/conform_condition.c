/* SPDX-License-Identifier: Apache-2.0
 * conform_condition.c - the threads of specs/sync/ConditionSteps.tla: one waits, one signals, and
 * one wants the mutex.
 *
 *   waiter                           signaller     locker
 *   has the mutex: wait; unlock      signal        lock; unlock
 *
 * Why it works  The threads are OS threads, which sleep in the futex of their waiter. A deadline
 *               may come at any time while one sleeps in the queue of the condition. The wait for
 *               the mutex has no deadline.
 * Spec          specs/sync/ConditionSteps.tla. Compared by wakeproof conform -t condition. */
#include "sync/condition.h"
#include "stress.h"

enum { WAITERS = 2, LATE = 1, SIGNALLED = 1, TOO_LATE };

struct state {
	wp_mutex mutex;
	wp_condition condition;
	uint32_t said;                                /* the result of the wait, or 0 */
	_Alignas(WP_LINE) wp_waiter waiters[WAITERS]; /* of the waiter, of the locker */
};

/* python/wakeproof/judge/conform/maps/condition.py reads the state at these places. */
_Static_assert(offsetof(struct state, mutex.word) == 0, "WORD");
_Static_assert(offsetof(struct state, mutex.lock.state) == 4, "LOCK");
_Static_assert(offsetof(struct state, condition.waiting) == 48, "WAITING");
_Static_assert(offsetof(struct state, condition.lock.state) == 52, "LINE");
_Static_assert(offsetof(struct state, said) == 72, "ENDED");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");

STRESS_INIT(init)
{
	wp_mutex_init(&state->mutex);
	wp_condition_init(&state->condition);
	for (int index = 0; index < WAITERS; index++)
		wp__waiter_init(&state->waiters[index], NULL, NULL);
	wp_mutex_try_lock(&state->mutex);
}

STRESS_ACTOR(waiter)
{
	int rc = wp__condition_wait(&state->condition, &state->mutex, &state->waiters[0], LATE);

	state->said = rc == WP_OK ? SIGNALLED : TOO_LATE;
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR_CALL(signaller, wp_condition_signal(&state->condition))

STRESS_ACTOR(locker)
{
	wp__mutex_lock(&state->mutex, &state->waiters[1], WP_FOREVER);
	wp_mutex_unlock(&state->mutex);
}

STRESS_TEST(conform_condition, .claim = "The compiled condition is the specified one.",
	    .upholds = "Condition!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {waiter, signaller}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"asleep", ACCEPTABLE, "it slept too late"}});

STRESS_TEST(conform_condition_wanted, .claim = "So it is where others want the mutex.",
	    .upholds = "Condition!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {waiter, signaller, locker}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"asleep", ACCEPTABLE, "it slept too late"}});
