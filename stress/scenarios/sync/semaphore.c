/* SPDX-License-Identifier: Apache-2.0
 * semaphore.c - permits go to those in line, in order; none is lost with a waiter that leaves.
 *
 *   releaser         OS thread        virtual thread     `semaphore`: "data seen" by both, "permits"
 *   data := 1        acquire 2        acquire 1          one permit is there
 *   release 2        data?            data?
 *
 * Why it works  All really sleep; the OS thread is in line when it begins. The arbiter counts the
 *               permits that are left.
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

/* It is in line already. */
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

STRESS_ACTOR(count_permits)
{
	result->r[2] = wp_semaphore_permits(&state->semaphore);
}

STRESS_TEST(semaphore, .claim = "Permits that are released go to all whom they suffice for.",
	    .upholds = "Semaphore!NoIdlePermit", .state_size = sizeof(struct state),
	    .init = init_large, .actors = {releaser, os_thread, virtual_thread},
	    .arbiter = count_permits, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "both have theirs, with the data"},
		    {"asleep", FORBIDDEN, "permits are free, and somebody sleeps"},
		    {"*,*,*", FORBIDDEN, "without the data, or permits lost or invented"},
	    });

/* The time runs out while the permit comes. Result: "permits, taken or left". */
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

STRESS_ACTOR(count_rest)
{
	result->r[0] += wp_semaphore_permits(&state->semaphore);
}

STRESS_TEST(semaphore_late, .claim = "A permit that comes with the timeout is taken or left.",
	    .upholds = "Semaphore!PermitBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, hasty}, .arbiter = count_rest, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "taken, or left for the next"},
		    {"*", FORBIDDEN, "given to a waiter that had left, or twice"},
	    });

/* Two permits of two threads for one. Result: "data seen" of the first. */
STRESS_ACTOR(release_more)
{
	wp_semaphore_release(&state->semaphore, 1);
}

STRESS_ACTOR(acquire_two)
{
	wp__semaphore_acquire(&state->semaphore, 2, &state->waiters[0], WP_FOREVER);
	result->r[0] = state->data;
}

STRESS_TEST(semaphore_data, .claim = "Who is served sees what all wrote whose permits it has.",
	    .upholds = "Semaphore!PermitBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, release_more, acquire_two}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "served, with the data"},
		    {"asleep", FORBIDDEN, "the permits are free, and it sleeps"},
		    {"*", FORBIDDEN, "served without the data"},
	    });

/* A large request is first, the permits do not suffice, and it leaves. Result: "the small one is
 * served". */
STRESS_ACTOR(leaver)
{
	wp__semaphore_cancel(&state->semaphore, &state->waiters[0]);
}

STRESS_ACTOR(small)
{
	acquire_one(state);
	result->r[0] = 1;
}

STRESS_TEST(semaphore_leaves, .claim = "Who leaves the line lets those behind it be served.",
	    .upholds = "Semaphore!NoIdlePermit", .state_size = sizeof(struct state),
	    .init = init_large, .actors = {leaver, small}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "served"},
		    {"asleep", FORBIDDEN, "the permit is free, and the next sleeps"},
	    });

/* One permit, and a large request in line for two. Result: "a small one took it". */
STRESS_ACTOR(overtaker)
{
	result->r[0] += wp_semaphore_try_acquire(&state->semaphore, 1);
}

STRESS_TEST(semaphore_order, .claim = "A large request is not overtaken.",
	    .upholds = "Semaphore!InOrder", .state_size = sizeof(struct state), .init = init_large,
	    .actors = {overtaker, overtaker}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the permit is kept for the first"},
		    {"*", FORBIDDEN, "overtaken"},
	    });
