/* SPDX-License-Identifier: Apache-2.0
 * mutex.c - the mutex has one holder at a time, loses no wakeup, and bounds bypassing.
 *
 *   OS thread        virtual thread     OS thread
 *   lock             lock               (in mutex_three)
 *   holds++          holds++
 *   unlock           unlock
 *
 * Result        `mutex`: "holds".
 * Why it works  The count is plain, so two holders cause a data race. All threads really sleep.
 * Spec          specs/sync/Mutex.tla. */
#include "sync/mutex.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_mutex mutex;
	struct virtual virtual;
	wp_waiter waiters[3];
	uint32_t holds; /* plain: guarded by the mutex */
};

STRESS_INIT(init)
{
	wp_mutex_init(&state->mutex);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
	wp__waiter_init(&state->waiters[2], NULL, NULL);
}

static void hold(struct state *state)
{
	state->holds++;
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(os_thread)
{
	wp__mutex_lock(&state->mutex, &state->waiters[0], WP_FOREVER);
	hold(state);
}

/* The thread is in the queue. */
static void virtual_wait(struct state *state)
{
	do
		virtual_park(&state->virtual);
	while (!wp__mutex_check(&state->mutex, &state->waiters[1]));
}

STRESS_ACTOR(virtual_thread)
{
	if (!wp__mutex_begin(&state->mutex, &state->waiters[1]))
		virtual_wait(state);
	hold(state);
}

STRESS_ACTOR(count_holds)
{
	result->r[0] = state->holds;
	result->r[1] = wp_mutex_try_lock(&state->mutex);
}

STRESS_TEST(mutex, .claim = "One thread at a time holds the mutex, and each waiter gets it.",
	    .upholds = "Mutex!MutualExclusion", .state_size = sizeof(struct state), .init = init,
	    .actors = {os_thread, virtual_thread}, .arbiter = count_holds, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"2,1", ACCEPTABLE, "each thread held the mutex, and it is free"},
		    {"asleep", FORBIDDEN, "lost wakeup: the mutex is free, and a thread sleeps"},
		    {"*,*", FORBIDDEN, "two threads held the mutex at once, or it is not free"},
	    });

/* The holder has a virtual thread in its queue, which locks again and again. Result: "holds,
 * free". */
STRESS_INIT(init_held)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_begin(&state->mutex, &state->waiters[1]);
}

STRESS_ACTOR(greedy)
{
	hold(state);
	wp__mutex_lock(&state->mutex, &state->waiters[0], WP_FOREVER);
	hold(state);
}

STRESS_ACTOR(in_line)
{
	virtual_wait(state);
	hold(state);
}

STRESS_TEST(mutex_again,
	    .claim = "A waiter that finds the mutex taken again is woken when it is free again.",
	    .upholds = "Mutex!NoLostSignal", .state_size = sizeof(struct state), .init = init_held,
	    .actors = {greedy, in_line}, .arbiter = count_holds, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"3,1", ACCEPTABLE, "each thread held the mutex, and it is free"},
		    {"asleep", FORBIDDEN, "lost wakeup: the mutex is free, and a thread sleeps"},
		    {"*,*", FORBIDDEN, "two threads held the mutex at once, or it is not free"},
	    });

/* Another thread takes the mutex past the first waiter. Result: "holds less bypasses, free". */
STRESS_ACTOR(passer)
{
	if (!wp_mutex_try_lock(&state->mutex))
		return;
	result->r[0] = -1;
	hold(state);
}

static void holder(void *at, stress_result *result)
{
	hold(at);
}

STRESS_ACTOR(add_holds)
{
	result->r[0] += state->holds;
	result->r[1] = wp_mutex_try_lock(&state->mutex);
}

STRESS_TEST(mutex_pass,
	    .claim = "A thread that bypasses the queue sees what the last holder wrote.",
	    .upholds = "Mutex!MutualExclusion", .state_size = sizeof(struct state),
	    .init = init_held, .actors = {holder, passer, in_line}, .arbiter = add_holds,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"2,1", ACCEPTABLE, "each thread held the mutex, and it is free"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the mutex is free, and the first waiter sleeps"},
		    {"*,*", FORBIDDEN, "two threads held the mutex at once, or it is not free"},
	    });

/* The first waiter is woken, and leaves. Result: "holds, free". */
STRESS_INIT(init_two)
{
	init_held(state);
	wp__mutex_begin(&state->mutex, &state->waiters[2]);
}

STRESS_ACTOR(leaver)
{
	if (!wp__mutex_cancel(&state->mutex, &state->waiters[1]))
		wp_mutex_unlock(&state->mutex); /* it has the mutex after all */
}

STRESS_ACTOR(second)
{
	do
		wp__waiter_park(&state->waiters[2], WP_FOREVER);
	while (!wp__mutex_check(&state->mutex, &state->waiters[2]));
	hold(state);
}

STRESS_TEST(mutex_leaves, .claim = "A woken waiter that leaves wakes the next one.",
	    .upholds = "Mutex!NoLostSignal", .state_size = sizeof(struct state), .init = init_two,
	    .actors = {holder, leaver, second}, .arbiter = count_holds, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"2,1", ACCEPTABLE, "each thread held the mutex, and it is free"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the mutex is free, and the next waiter sleeps"},
		    {"*,*", FORBIDDEN, "two threads held the mutex at once, or it is not free"},
	    });

/* A thread that never waits tries again and again while the first waiter is in the queue. Result:
 * "bypassed too often". */
STRESS_INIT(init_behind)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_begin(&state->mutex, &state->waiters[0]);
}

STRESS_ACTOR(trier)
{
	int64_t passes = -1;

	do {
		wp_mutex_unlock(&state->mutex);
		passes++;
	} while (passes <= WP_MUTEX_BYPASSES && wp_mutex_try_lock(&state->mutex));
	result->r[0] = passes > WP_MUTEX_BYPASSES;
}

STRESS_TEST(
	mutex_passes,
	.claim = "Bypassing is bounded by a fixed number; then the first waiter gets the mutex.",
	.upholds = "Mutex!BoundedBypass", .state_size = sizeof(struct state), .init = init_behind,
	.actors = {trier}, .results = 1,
	.outcomes = {
		{"0", ACCEPTABLE, "the mutex was handed to the waiter within the bound"},
		{"1", FORBIDDEN, "the waiter was bypassed once more than the bound"},
	});

/* The same, and after each bypass the first waiter finds in vain that it was woken. The thread plays
 * both. Result: "woken too often". */
enum { ROUNDS = (WP_MUTEX_BYPASSES + WP_MUTEX_MISS) / (1 + WP_MUTEX_MISS) };

STRESS_ACTOR(trier_and_waiter)
{
	int64_t rounds = -1;

	do {
		wp_mutex_unlock(&state->mutex);
		rounds++;
	} while (rounds <= ROUNDS && wp_mutex_try_lock(&state->mutex) &&
		 !wp__mutex_check(&state->mutex, &state->waiters[0]));
	result->r[0] = rounds > ROUNDS;
}

STRESS_TEST(mutex_misses,
	    .claim = "A waiter that is woken in vain again and again is given the mutex sooner.",
	    .upholds = "Mutex!MissesCounted", .state_size = sizeof(struct state),
	    .init = init_behind, .actors = {trier_and_waiter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the mutex was handed to the waiter within the bound"},
		    {"1", FORBIDDEN, "the waiter was woken in vain once more than the bound"},
	    });

/* Two threads are in the queue, and each takes the mutex. Result: "holds, free". */
STRESS_ACTOR(other_in_line)
{
	while (!wp__mutex_check(&state->mutex, &state->waiters[2]))
		wp__waiter_park(&state->waiters[2], WP_FOREVER);
	hold(state);
}

STRESS_TEST(mutex_line,
	    .claim = "A first waiter that takes the mutex leaves the others in the queue.",
	    .upholds = "Mutex!NoLostSignal", .state_size = sizeof(struct state), .init = init_two,
	    .actors = {holder, in_line, other_in_line}, .arbiter = count_holds, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"3,1", ACCEPTABLE, "each thread held the mutex, and it is free"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the mutex is free, and the second waiter sleeps"},
		    {"*,*", FORBIDDEN, "two threads held the mutex at once, or it is not free"},
	    });

/* The second waiter checks at once, in vain; each notes how many threads held the mutex before.
 * Result: "the first in the queue; the second". */
struct order {
	struct state state; /* must be first */
	uint32_t places[2]; /* plain: guarded by the mutex */
};

static void init_order(void *at)
{
	init_two(at);
}

STRESS_ACTOR_OF(order, first_in_line)
{
	virtual_wait(&state->state);
	state->places[0] = state->state.holds;
	hold(&state->state);
}

STRESS_ACTOR_OF(order, second_in_line)
{
	while (!wp__mutex_check(&state->state.mutex, &state->state.waiters[2]))
		wp__waiter_park(&state->state.waiters[2], WP_FOREVER);
	state->places[1] = state->state.holds;
	hold(&state->state);
}

STRESS_ACTOR_OF(order, look_at_places)
{
	result->r[0] = state->places[0];
	result->r[1] = state->places[1];
}

STRESS_TEST(mutex_order, .claim = "Waiters get the mutex in the order of the queue.",
	    .upholds = "Mutex!InOrder", .state_size = sizeof(struct order), .init = init_order,
	    .actors = {holder, first_in_line, second_in_line}, .arbiter = look_at_places,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,2", REQUIRED, "one waiter came after the other"},
		    {"asleep", FORBIDDEN, "lost wakeup: the mutex is free, and a thread sleeps"},
		    {"*,*", FORBIDDEN, "the second waiter took the mutex before the first"},
	    });
