/* SPDX-License-Identifier: Apache-2.0
 * semaphore.c - permits go to waiters in order, and none is lost with a waiter that leaves.
 *
 *   releaser         OS thread        virtual thread
 *   data := 1        acquire 2        acquire 1
 *   release 2        data?            data?
 *
 * Result        `semaphore`: "data seen" by both, "permits".
 * Why it works  All threads really sleep; the OS thread is in the queue at the
 *               start, and one permit is free. The arbiter
 *               counts the permits that are left.
 * Spec          specs/sync/Semaphore.tla. */
#include "sync/semaphore.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_semaphore semaphore;
	struct virtual virtual;
	wp_waiter waiters[2];
	uint32_t data; /* plain: the permits hand it over */
};

static void init_with(struct state *state, uint32_t permits)
{
	wp_semaphore_init(&state->semaphore, permits);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
}

STRESS_INIT(init)
{
	init_with(state, 0);
}

STRESS_INIT(init_large)
{
	init_with(state, 1);
	wp__semaphore_begin(&state->semaphore, 2, &state->waiters[0]);
}

STRESS_ACTOR(releaser)
{
	state->data = 1;
	wp_semaphore_release(&state->semaphore, 2);
}

/* The OS thread is in the queue already. */
STRESS_ACTOR(os_thread)
{
	wp_waiter *waiter = &state->waiters[0];

	do
		wp__waiter_park(waiter, WP_FOREVER);
	while (!wp__waiter_check(&state->semaphore.lock, waiter));
	result->r[0] = state->data;
}

static void acquire_one(struct state *state)
{
	wp_waiter *waiter = &state->waiters[1];

	if (wp__semaphore_begin(&state->semaphore, 1, waiter))
		return;
	do
		virtual_park(&state->virtual);
	while (!wp__waiter_check(&state->semaphore.lock, waiter));
}

STRESS_ACTOR(virtual_thread)
{
	acquire_one(state);
	result->r[1] = state->data;
}

STRESS_ACTOR_CALL(count_permits, result->r[2] = wp_semaphore_permits(&state->semaphore))

STRESS_TEST(semaphore, .claim = "Released permits go to as many waiters as they suffice for.",
	    .upholds = "Semaphore!NoIdlePermit", .state_size = sizeof(struct state),
	    .init = init_large, .actors = {releaser, os_thread, virtual_thread},
	    .arbiter = count_permits, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "both waiters have their permits, and see the data"},
		    {"asleep", FORBIDDEN, "lost wakeup: permits are free, and a waiter sleeps"},
		    {"*,*,*", FORBIDDEN,
		     "a waiter does not see the data, or permits are lost or invented"},
	    });

/* The time runs out while the permit is released. Result: "permits, taken or left". */
STRESS_ACTOR(release_one)
{
	state->data = 1;
	wp_semaphore_release(&state->semaphore, 1);
}

STRESS_ACTOR(hasty)
{
	if (wp__semaphore_acquire(&state->semaphore, 1, &state->waiters[0], 1) == WP_OK)
		result->r[0] = state->data;
}

STRESS_ACTOR_CALL(count_rest, result->r[0] += wp_semaphore_permits(&state->semaphore))

STRESS_TEST(semaphore_late, .claim = "A permit that meets a timeout is either taken or left.",
	    .upholds = "Semaphore!PermitBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, hasty}, .arbiter = count_rest, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the permit was taken, or left for the next waiter"},
		    {"*", FORBIDDEN,
		     "the permit was given to a waiter that had left, or given twice"},
	    });

/* One waiter needs two permits, which two threads release. Result: "data seen" by the waiter. */
STRESS_ACTOR_CALL(release_more, wp_semaphore_release(&state->semaphore, 1))

STRESS_ACTOR(acquire_two)
{
	wp__semaphore_acquire(&state->semaphore, 2, &state->waiters[0], WP_FOREVER);
	result->r[0] = state->data;
}

STRESS_TEST(semaphore_data,
	    .claim = "A waiter sees the writes of all threads that released its permits.",
	    .upholds = "Semaphore!PermitBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, release_more, acquire_two}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the waiter has its permits, and sees the data"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the permits are free, and the waiter sleeps"},
		    {"*", FORBIDDEN, "the waiter has its permits, and does not see the data"},
	    });

/* A large request is first, the permits do not suffice, and it leaves. Result: "the small request
 * is served". */
STRESS_ACTOR_CALL(leaver, wp__semaphore_cancel(&state->semaphore, &state->waiters[0]))

STRESS_ACTOR(small)
{
	acquire_one(state);
	result->r[0] = 1;
}

STRESS_TEST(semaphore_leaves,
	    .claim = "A waiter that leaves the queue lets the waiters behind it be served.",
	    .upholds = "Semaphore!NoIdlePermit", .state_size = sizeof(struct state),
	    .init = init_large, .actors = {leaver, small}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "served"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the permit is free, and the next waiter sleeps"},
	    });

/* One permit is free, and a large request for two waits in the queue. Result: "a small request took
 * it". */
STRESS_ACTOR_CALL(overtaker, result->r[0] += wp_semaphore_try_acquire(&state->semaphore, 1))

STRESS_TEST(semaphore_order, .claim = "A large request is not overtaken.",
	    .upholds = "Semaphore!InOrder", .state_size = sizeof(struct state), .init = init_large,
	    .actors = {overtaker, overtaker}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the permit is kept for the first request"},
		    {"*", FORBIDDEN, "overtaken"},
	    });
