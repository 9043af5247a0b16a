/* SPDX-License-Identifier: Apache-2.0
 * condition.c - a thread that waits for a change is woken, and holds the mutex when it checks.
 *
 *   waiter                      changer
 *   lock                        lock
 *   while unchanged: wait       change
 *   unlock                      unlock; signal
 *
 * Result        `condition`: "change seen".
 * Why it works  The state is plain, and guarded by the mutex. All threads really sleep.
 * Spec          specs/sync/Condition.tla. */
#include "sync/condition.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_mutex mutex;
	wp_condition condition;
	struct virtual virtual;
	wp_waiter waiters[2], locker;
	uint32_t change; /* plain: guarded by the mutex */
	wp_atomic(uint32_t) holders;
};

STRESS_INIT(init)
{
	wp_mutex_init(&state->mutex);
	wp_condition_init(&state->condition);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
	wp__waiter_init(&state->locker, NULL, NULL);
}

STRESS_ACTOR(os_thread)
{
	wp__mutex_lock(&state->mutex, &state->waiters[0], WP_FOREVER);
	if (!state->change) {
		wp__waiter_init(&state->waiters[0], NULL, NULL);
		wp__condition_wait(&state->condition, &state->mutex, &state->waiters[0],
				   WP_FOREVER);
	}
	result->r[0] = state->change;
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(changer)
{
	wp__mutex_lock(&state->mutex, &state->locker, WP_FOREVER);
	state->change = 1;
	wp_mutex_unlock(&state->mutex);
	wp_condition_signal(&state->condition);
}

STRESS_TEST(
	condition,
	.claim = "A signal wakes a thread that waited before it, and that thread sees the change.",
	.upholds = "Condition!NoLostSignal", .state_size = sizeof(struct state), .init = init,
	.actors = {os_thread, changer}, .results = 1, .blocking = 1,
	.outcomes = {
		{"1", ACCEPTABLE, "the waiter sees the change"},
		{"0", FORBIDDEN, "the waiter was woken, and does not see the change"},
		{"asleep", FORBIDDEN, "lost wakeup: changed and signalled, and the waiter sleeps"},
	});

/* Both threads are in the queue, and a broadcast wakes both. Result: "change seen" by both. */
STRESS_INIT(init_waiting)
{
	init(state);
	for (int i = 0; i < 2; i++) {
		wp_mutex_try_lock(&state->mutex);
		wp__condition_begin(&state->condition, &state->mutex, &state->waiters[i]);
	}
	wp_mutex_try_lock(&state->mutex);
}

STRESS_ACTOR(os_wakes)
{
	do
		wp__waiter_park(&state->waiters[0], WP_FOREVER);
	while (!wp__condition_check(&state->condition, &state->mutex, &state->waiters[0]));
	result->r[0] = state->change;
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(virtual_wakes)
{
	do
		virtual_park(&state->virtual);
	while (!wp__condition_check(&state->condition, &state->mutex, &state->waiters[1]));
	result->r[1] = state->change;
	wp_mutex_unlock(&state->mutex);
}

/* The announcer holds the mutex. */
STRESS_ACTOR(announcer)
{
	state->change = 1;
	wp_condition_broadcast(&state->condition);
	wp_mutex_unlock(&state->mutex);
}

STRESS_TEST(condition_all, .claim = "A broadcast wakes all earlier waiters, one after the other.",
	    .upholds = "Condition!NoLostSignal", .state_size = sizeof(struct state),
	    .init = init_waiting, .actors = {os_wakes, virtual_wakes, announcer}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "both waiters see the change"},
		    {"*,*", FORBIDDEN, "the waiter was woken, and does not see the change"},
		    {"asleep", FORBIDDEN, "lost wakeup: a waiter sleeps on"},
	    });

/* The first waiter leaves while one signal is sent. Result: "signals taken; the one that left has
 * the mutex, too". */
STRESS_INIT(init_free)
{
	init_waiting(state);
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(hasty)
{
	wp_waiter *waiter = &state->waiters[0];

	if (!wp__condition_cancel(&state->condition, waiter)) {
		while (!wp__mutex_check(&state->mutex, waiter))
			wp__waiter_park(waiter, WP_FOREVER);
		result->r[0] = 1;
		wp_mutex_unlock(&state->mutex);
	}
}

STRESS_ACTOR_CALL(signaller, wp_condition_signal(&state->condition))

/* The second waiter, if it was woken, has the mutex. */
STRESS_ACTOR_CALL(count_signals, result->r[0] += wp__waiter_is_granted(&state->waiters[1]))

STRESS_TEST(condition_late,
	    .claim = "A signal that meets a waiter's timeout goes to one of two waiters.",
	    .upholds = "Condition!SignalsNotSwallowed", .state_size = sizeof(struct state),
	    .init = init_free, .actors = {hasty, signaller}, .arbiter = count_signals, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the first waiter took the signal, or the second did"},
		    {"*", FORBIDDEN,
		     "lost signal: a waiter that reports a timeout took it; or it was taken twice"},
	    });

/* One thread waits; the mutex's holder signals it, which moves it to the mutex's queue. Result:
 * "change seen". */
STRESS_INIT(init_one)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__condition_begin(&state->condition, &state->mutex, &state->waiters[1]);
	wp_mutex_try_lock(&state->mutex);
	wp_init(&state->holders, 1);
}

STRESS_ACTOR(one_wakes)
{
	virtual_wakes(state, result);
	result->r[0] = result->r[1];
}

STRESS_ACTOR(signals)
{
	state->change = 1;
	wp_condition_signal(&state->condition);
	wp_mutex_unlock(&state->mutex);
}

STRESS_TEST(condition_moved,
	    .claim = "A waiter that is moved to the mutex's queue returns when the mutex is free.",
	    .upholds = "Condition!Served", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {one_wakes, signals}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the waiter sees the change"},
		    {"asleep", FORBIDDEN, "lost wakeup: the mutex is free, and the waiter sleeps"},
		    {"*", FORBIDDEN, "the waiter was woken, and does not see the change"},
	    });

/* The same, at the waiter's return. Result: "others that had the mutex then". */
STRESS_ACTOR(one_holds)
{
	do
		virtual_park(&state->virtual);
	while (!wp__condition_check(&state->condition, &state->mutex, &state->waiters[1]));
	result->r[0] = wp_fetch_add_relaxed(&state->holders, 1);
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(holder)
{
	wp_condition_broadcast(&state->condition);
	wp_fetch_add_relaxed(&state->holders, UINT32_MAX);
	wp_mutex_unlock(&state->mutex);
}

STRESS_TEST(condition_holds, .claim = "A thread that returns from a wait holds the mutex alone.",
	    .upholds = "Condition!HoldsMutex", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {one_holds, holder}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", REQUIRED, "the former holder has released the mutex"},
		    {"*", FORBIDDEN, "two threads hold the mutex at once"},
		    {"asleep", FORBIDDEN, "lost wakeup: the mutex is free, and the waiter sleeps"},
	    });
