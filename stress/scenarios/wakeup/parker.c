/* SPDX-License-Identifier: Apache-2.0
 * parker.c - one permit: given once, never lost, and carrying the giver's data.
 *
 *   owner             unparker               result of `parker`: "data seen"
 *   park              data := 1
 *   data?             unpark
 *
 * Why it works  The owner really sleeps. What it reads after the park is what the unparker wrote
 *               before.
 * Spec          specs/wakeup/Parker.tla. */
#include "wakeup/parker.h"
#include "base/error.h"
#include "base/futex.h"
#include "stress.h"

struct state {
	wp_parker parker;
	wp_atomic(uint32_t) data;
};

STRESS_INIT(init)
{
	wp_parker_init(&state->parker);
}

STRESS_ACTOR(unparker)
{
	wp_store_relaxed(&state->data, 1);
	result->r[1] = wp_parker_unpark(&state->parker);
}

STRESS_ACTOR(owner)
{
	wp_parker_park(&state->parker);
	result->r[0] = wp_load_relaxed(&state->data);
}

STRESS_TEST(parker, .claim = "An unpark ends the park that it precedes or finds.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {unparker, owner}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "awake, with the unparker's data"},
		    {"0", FORBIDDEN, "awake without the data: unpark did not happen before"},
		    {"asleep", FORBIDDEN,
		     "a missed wakeup: the permit is there and the owner sleeps"},
	    });

/* Two unparkers and an owner that never sleeps. Result: "permits given, permits taken". */
STRESS_ACTOR(first_giver)
{
	result->r[0] = wp_parker_unpark(&state->parker);
}

STRESS_ACTOR(second_giver)
{
	result->r[0] = wp_parker_unpark(&state->parker);
}

STRESS_ACTOR(taker)
{
	result->r[1] = wp_parker_park_until(&state->parker, 0) == WP_OK;
}

STRESS_ACTOR(take_rest)
{
	while (wp_parker_park_until(&state->parker, 0) == WP_OK)
		result->r[1]++;
}

STRESS_TEST(parker_permits, .claim = "Each permit given is taken once, and there is one at most.",
	    .upholds = "Parker!PermitAtMostOne", .state_size = sizeof(struct state), .init = init,
	    .actors = {first_giver, second_giver, taker}, .arbiter = take_rest, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "one gave, the other found it there"},
		    {"2,2", ACCEPTABLE, "one was taken before the other came"},
		    {"*,*", FORBIDDEN, "a permit was lost, doubled or invented"},
	    });

/* The permit is there already. Result: "data seen, unpark gave it". */
STRESS_INIT(init_permit)
{
	init(state);
	wp_parker_unpark(&state->parker);
}

STRESS_TEST(parker_data, .claim = "An unpark that finds the permit there hands its data over too.",
	    .upholds = "Parker!HappensBefore", .state_size = sizeof(struct state),
	    .init = init_permit, .actors = {unparker, owner}, .results = 2,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "the old permit was taken first"},
		    {"1,0", ACCEPTABLE, "one permit for both, with the data"},
		    {"1,1", ACCEPTABLE, "taken first, the data seen all the same"},
		    {"0,0", FORBIDDEN,
		     "the permit was there, and the park that took it missed the data"},
	    });

/* The time runs out (it has: the system call returns at once) while the permit comes. Result:
 * "permits taken". */
STRESS_ACTOR(hasty_owner)
{
	result->r[0] = wp_parker_park_until(&state->parker, 1) == WP_OK;
}

/* Anywhere within two microseconds: about the length of the other's system call. */
STRESS_ACTOR(giver)
{
	int64_t now_ns = wp_clock_ns(), until_ns = now_ns + now_ns % 2000;

	while (wp_clock_ns() < until_ns)
		wp_pause();
	wp_parker_unpark(&state->parker);
}

STRESS_ACTOR(take_left)
{
	result->r[0] += wp_parker_park_until(&state->parker, 0) == WP_OK;
}

STRESS_TEST(parker_timeout, .claim = "A permit that comes with the timeout is taken or kept.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {giver, hasty_owner}, .arbiter = take_left, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "taken by the park, or by the next one"},
		    {"0", FORBIDDEN, "erased by the exit from the timed park"},
	    });

/* The closer writes why. Result: "closed, reason seen". */
STRESS_ACTOR(closer)
{
	wp_store_relaxed(&state->data, 1);
	wp_parker_close(&state->parker);
}

STRESS_ACTOR(closed_owner)
{
	result->r[0] = wp_parker_park(&state->parker) == WP_CLOSED;
	result->r[1] = wp_load_relaxed(&state->data);
}

STRESS_TEST(parker_close, .claim = "A close ends the park, which sees what was written before it.",
	    .upholds = "Parker!CloseNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {closer, closed_owner}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "closed, and the reason is there"},
		    {"1,0", FORBIDDEN, "closed without the reason: close did not happen before"},
		    {"0,*", FORBIDDEN, "a permit that nobody gave"},
		    {"asleep", FORBIDDEN, "closed, and the owner sleeps"},
	    });
