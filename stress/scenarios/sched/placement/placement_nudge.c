/* SPDX-License-Identifier: Apache-2.0
 * placement_nudge.c - a task for which no carrier was to be had, and one that goes to sleep.
 *
 *   submitter                    carrier                     result: "it sleeps, tasks it was not
 *   push; count                  word := PARKED                told of, it was woken"
 *   somebody is idle: nudge it   [carrier.6]; idle, if there are no tasks
 *
 * Why it works  The nudge is of timer.h, with its fence: who finds it counted finds the word.
 * Spec          specs/sched/placement/Placement.tla. */
#include "sched/placement/placement.h"
#include "stress.h"
#include "sched/timer.h"

struct state {
	wp_carrier carrier;
	wp_placement placement;
	wp_placement_slot slot;
};

STRESS_INIT(init)
{
	wp_carrier_init(&state->carrier, NULL, 0);
	wp_placement_init(&state->placement, &state->slot, 1, WP_PLACE_HOME, false);
}

STRESS_ACTOR(spills)
{
	if (wp_placement_spilled(&state->placement, 1))
		wp_timers_nudge(&state->carrier);
}

/* As a carrier's park: advertise, then rest. */
STRESS_ACTOR(parks)
{
	wp_mpsc_node *stolen;

	if (wp_twin(placement_idle_early))
		result->r[0] = wp_placement_rest(&state->placement);
	wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen);
	if (!wp_twin(placement_idle_early))
		result->r[0] = wp_placement_rest(&state->placement);
}

STRESS_ACTOR(read_word)
{
	result->r[1] = wp_load_relaxed(&state->carrier.word) == WP_WAKING;
}

STRESS_TEST(placement_nudge, .claim = "Who is idle is woken for a global task.",
	.upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state), .init = init,
	.actors = {spills, parks}, .arbiter = read_word, .results = 2,
	.outcomes = {
		{"0,*", ACCEPTABLE, "it saw the task"},
		{"1,1", ACCEPTABLE, "it was idle, and is woken"},
		{"1,0", FORBIDDEN, "it sleeps, and nobody will wake it"},
	});

STRESS_TWIN(placement_idle_early, .of = "placement_nudge",
	.defect = "counts itself among the idle ones before its word says that it is parked",
	.shows = "1,0", .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
