/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier_sleeps.c - spare carriers sleep, are called in or retired, while tasks arrive.
 *
 *   marks 0                      1, an idle spare                    submitter
 *   1 is called in; wake it      word := PARKED                      push; count
 *                                [carrier.6]; idle spare: sleep;     wake it, if it is parked,
 *                                otherwise: sleep if no task waits   and is no idle spare
 *
 * Why it works  Sleeping carriers are real, and are woken by wp_timers_nudge (timer.h).
 * Spec          specs/sched/compensation/SpareCarrier.tla. */
#include "spare_carriers.h"

/* Result: "it sleeps (1: eligible, 2: idle spare), it was woken". */
STRESS_INIT(init_cached)
{
	init_marked(state);
	unmark(state, 0);
}

STRESS_ACTOR(parks)
{
	wp_mpsc_node *stolen;

	wp_carrier_advertise(&state->carriers[1], WP_PARKED_FUTEX, &stolen);
	if (wp_spare_carrier_is_dormant(&state->placement, 1))
		result->r[0] = 2;
	else
		result->r[0] = !wp_placement_has_global(&state->placement);
}

static void spill(struct state *state, uint32_t first)
{
	wp_placement_spilled(&state->placement, 1);
	wp_spare_carrier_fence();
	for (uint32_t carrier = first; carrier > 0; carrier--)
		if (!wp_spare_carrier_is_dormant(&state->placement, carrier) &&
		    wp__timers_end_sleep(&state->carriers[carrier]))
			return;
}

STRESS_ACTOR_CALL(spills, spill(state, 1))
STRESS_ACTOR_CALL(read_woken, result->r[1] = wp_load_relaxed(&state->carriers[1].word) == WP_WAKING)

STRESS_TEST(spare_carrier_sleeps,
	    .claim = "A spare carrier is woken when it is called in, and for tasks of the group.",
	    .upholds = "SpareCarrier!NoStrandedGlobal", .state_size = sizeof(struct state),
	    .init = init_cached, .actors = {blocks, parks, spills}, .arbiter = read_woken,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,*", ACCEPTABLE, "the carrier saw the task"},
		    {"*,1", ACCEPTABLE, "the carrier is woken"},
		    {"*", FORBIDDEN, "lost wakeup: the carrier sleeps, and nothing will wake it"},
	    });

/* Carrier 0 is marked as blocked, and carrier 1 is idle. Carrier 2, its spare, is idle too; it is
 * retired, and may be woken for a task. Result: "2 took the task, 1 was woken". */
STRESS_INIT(init_idle)
{
	wp_mpsc_node *stolen;

	init_as(state, 2, 3);
	mark(state, 0);
	for (uint32_t carrier = 1; carrier < 3; carrier++)
		wp_carrier_advertise(&state->carriers[carrier], WP_PARKED_FUTEX, &stolen);
}

STRESS_ACTOR(is_woken)
{
	wp_carrier_sleep_until(&state->carriers[2], WP_FOREVER);
	wp_carrier_leave(&state->carriers[2]);
	if (!wp_placement_has_global(&state->placement))
		return;
	if (!wp_spare_carrier_is_dormant(&state->placement, 2))
		result->r[0] = 1;
	else if (!wp_twin(spare_carrier_wake_kept))
		wp_timers_nudge(&state->carriers[1]);
}

STRESS_ACTOR_CALL(spills_two, spill(state, 2))

STRESS_TEST(spare_carrier_passes,
	    .claim = "A retired carrier that is woken for a task passes the wakeup on.",
	    .upholds = "SpareCarrier!NoStrandedGlobal", .state_size = sizeof(struct state),
	    .init = init_idle, .actors = {goes_on, spills_two, is_woken}, .arbiter = read_woken,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,*", ACCEPTABLE, "carrier 2 took the task"},
		    {"0,1", ACCEPTABLE, "carrier 1 is woken"},
		    {"*", FORBIDDEN, "lost wakeup: a carrier is idle, and nothing will wake it"},
	    });

STRESS_TWIN(
	spare_carrier_wake_kept, .of = "spare_carrier_passes",
	.defect =
		"An idle spare that is woken for a task of the group does not pass the wakeup on.",
	.shows = "0,0", .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
