/* SPDX-License-Identifier: Apache-2.0
 * timer.c - a carrier's deadlines, armed by another thread while the carrier goes to sleep.
 *
 *   sleeper                     armer
 *   word := PARKED              arm: the first
 *   earliest: sleep until it    parked: WAKING
 *
 * Result        `timer_nudge`: "would sleep, knows the deadline, was woken".
 * Why it works  In `timer_sleep` the deadline is past, so a sleep that knows it ends at once.
 *               timer_ends.c covers how a timer ends.
 * Spec          specs/sched/Timer.tla. */
#include "timers.h"

STRESS_ACTOR_CALL(armer, timers_arm(state, &state->soon, SOON))

STRESS_ACTOR(sleeper)
{
	wp_mpsc_node *stolen;

	result->r[0] = wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen);
	result->r[1] = wp_timers_earliest(&state->timers) == SOON;
}

STRESS_ACTOR_CALL(read_word, result->r[2] = wp_load_relaxed(&state->carrier.word) == WP_WAKING)

STRESS_TEST(timer_nudge, .claim = "A carrier that goes to sleep knows the deadline, or is woken.",
	    .upholds = "Timer!NoOversleep", .state_size = sizeof(struct state), .init = timers_init,
	    .actors = {sleeper, armer}, .arbiter = read_word, .results = 3,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "the carrier read the deadline, and sleeps until then"},
		    {"1,0,1", ACCEPTABLE, "the carrier was to sleep on, and is woken"},
		    {"1,1,1", ACCEPTABLE, "both"},
		    {"1,0,0", FORBIDDEN, "lost wakeup: the carrier sleeps past the deadline"},
		    {"*,*,*", FORBIDDEN, "the carrier does not sleep, and has no reason for that"},
	    });

/* The carrier really sleeps. Result: "fired". */
STRESS_ACTOR(fire_and_sleep)
{
	wp_mpsc_node *stolen;

	while (wp_load_relaxed(&state->fired[0]) == 0) {
		wp_timers_due(&state->timers, NOW);
		if (wp_load_relaxed(&state->fired[0]) == 0 &&
		    wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen)) {
			wp_carrier_sleep_until(&state->carrier, wp_timers_earliest(&state->timers));
			wp_carrier_leave(&state->carrier);
		}
	}
	result->r[0] = 1;
}

STRESS_TEST(timer_sleep,
	    .claim = "An earlier deadline ends the sleep of the carrier on which it is armed.",
	    .upholds = "Timer!NoOversleep", .state_size = sizeof(struct state), .init = timers_init,
	    .actors = {fire_and_sleep, armer}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "fired"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the timer is armed, and its carrier sleeps on"},
	    });

/* Two threads arm a timer each; then the carrier fires the timers that are due. Result: "the
 * earlier deadline can be read; it fires in time; both have fired at the end". */
STRESS_ACTOR_CALL(late_armer, timers_arm(state, &state->late, LATE))

STRESS_ACTOR(fire_both)
{
	result->r[0] = wp_timers_earliest(&state->timers) == SOON;
	wp_timers_due(&state->timers, NOW);
	result->r[1] = wp_load_relaxed(&state->fired[0]) && !wp_load_relaxed(&state->fired[1]);
	wp_timers_due(&state->timers, LATE);
	result->r[2] = wp_load_relaxed(&state->fired[1]);
}

STRESS_TEST(
	timer_armers, .claim = "Of two deadlines the earlier is read, and fires first.",
	.upholds = "Timer!NoOversleep", .state_size = sizeof(struct state), .init = timers_init,
	.actors = {armer, late_armer}, .arbiter = fire_both, .results = 3, .blocking = 1,
	.outcomes = {
		{"1,1,1", ACCEPTABLE, "whichever thread came first"},
		{"asleep", FORBIDDEN, "the lock is never released"},
		{"*,*,*", FORBIDDEN,
		 "the later deadline hides the earlier, or a timer is lost, or fires too early"},
	});
