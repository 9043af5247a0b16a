/* SPDX-License-Identifier: Apache-2.0
 * parker.c - a parker's one permit is given once, is never lost, and carries the giver's data.
 *
 *   owner             unparker
 *   park              data := 1
 *   data?             unpark
 *
 * Result        `parker`: "data seen".
 * Why it works  The owner really sleeps. After the park it must read the data that the unparker
 *               wrote before.
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

STRESS_TEST(parker, .claim = "An unpark ends a park that has begun, or the next one.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {unparker, owner}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the owner is awake, and sees the unparker's data"},
		    {"0", FORBIDDEN,
		     "the owner is awake without the data: the unpark did not happen before"},
		    {"asleep", FORBIDDEN, "lost wakeup: the permit is there, and the owner sleeps"},
	    });

/* Two threads unpark an owner that never sleeps. Result: "permits given, permits taken". */
STRESS_ACTOR_CALL(first_giver, result->r[0] = wp_parker_unpark(&state->parker))
STRESS_ACTOR_CALL(second_giver, result->r[0] = wp_parker_unpark(&state->parker))
STRESS_ACTOR_CALL(taker, result->r[1] = wp_parker_park_until(&state->parker, 0) == WP_OK)

STRESS_ACTOR(take_rest)
{
	while (wp_parker_park_until(&state->parker, 0) == WP_OK)
		result->r[1]++;
}

STRESS_TEST(parker_permits, .claim = "Each permit is taken once, and at most one permit exists.",
	    .upholds = "Parker!PermitAtMostOne", .state_size = sizeof(struct state), .init = init,
	    .actors = {first_giver, second_giver, taker}, .arbiter = take_rest, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE,
		     "one unparker gave the permit, and the other found it there"},
		    {"2,2", ACCEPTABLE, "one permit was taken before the other was given"},
		    {"*,*", FORBIDDEN, "a permit was lost, doubled or invented"},
	    });

/* The permit is there already. Result: "data seen, unpark gave it". */
STRESS_INIT(init_permit)
{
	init(state);
	wp_parker_unpark(&state->parker);
}

STRESS_TEST(parker_data, .claim = "An unpark that finds the permit there hands its data over, too.",
	    .upholds = "Parker!HappensBefore", .state_size = sizeof(struct state),
	    .init = init_permit, .actors = {unparker, owner}, .results = 2,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "the old permit was taken first"},
		    {"1,0", ACCEPTABLE, "one permit stands for both unparks, and brings the data"},
		    {"1,1", ACCEPTABLE,
		     "the old permit was taken first, and the data is seen all the same"},
		    {"0,0", FORBIDDEN,
		     "the permit was there, and the park that took it does not see the data"},
	    });

/* The time runs out while a permit is given; it has run out already, so the system call returns at
 * once. Result: "permits taken". */
STRESS_ACTOR_CALL(hasty_owner, result->r[0] = wp_parker_park_until(&state->parker, 1) == WP_OK)

/* Gives the permit within two microseconds, about the length of the other's system call. */
STRESS_ACTOR(giver)
{
	int64_t now_ns = wp_clock_ns(), until_ns = now_ns + now_ns % 2000;

	while (wp_clock_ns() < until_ns)
		wp_pause();
	wp_parker_unpark(&state->parker);
}

STRESS_ACTOR_CALL(take_left, result->r[0] += wp_parker_park_until(&state->parker, 0) == WP_OK)

STRESS_TEST(parker_timeout, .claim = "A permit that meets a timeout is taken or kept.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {giver, hasty_owner}, .arbiter = take_left, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the permit was taken by the park, or by the next one"},
		    {"0", FORBIDDEN, "lost permit: the exit from the timed park erased it"},
	    });

/* The closer writes the reason. Result: "closed, reason seen". */
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

STRESS_TEST(
	parker_close, .claim = "A close ends the park, which sees the closer's earlier writes.",
	.upholds = "Parker!CloseNotLost", .state_size = sizeof(struct state), .init = init,
	.actors = {closer, closed_owner}, .results = 2, .blocking = 1,
	.outcomes = {
		{"1,1", ACCEPTABLE, "the park reports the close, and the reason is seen"},
		{"1,0", FORBIDDEN,
		 "the park reports the close without the reason: the close did not happen before"},
		{"0,*", FORBIDDEN, "the owner took a permit that no thread gave"},
		{"asleep", FORBIDDEN, "lost wakeup: the parker is closed, and the owner sleeps"},
	});
