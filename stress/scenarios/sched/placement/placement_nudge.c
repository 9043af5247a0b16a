/* SPDX-License-Identifier: Apache-2.0
 * placement_nudge.c - a task for which no carrier was available, and a carrier that goes to sleep.
 *
 *   submitter                    carrier
 *   push; count                  word := PARKED
 *   wake it, if it is parked     [carrier.6]; sleep, if there are no tasks
 *
 * Result        "it sleeps, tasks that it did not see, it was woken".
 * Why it works  As in group_placement.c: the submitter finds the word, or the carrier finds the
 *               task.
 * Spec          specs/sched/placement/Placement.tla. */
#include "sched/compensation/spare_carrier.h"
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
	wp_placement_spilled(&state->placement, 1);
	wp_spare_carrier_fence();
	if (!wp_twin(placement_strand_global))
		wp__timers_end_sleep(&state->carrier);
}

/* As a carrier's park: advertise, then check. */
STRESS_ACTOR(parks)
{
	wp_mpsc_node *stolen;

	if (wp_twin(placement_idle_early))
		result->r[0] = !wp_placement_has_global(&state->placement);
	wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen);
	if (!wp_twin(placement_idle_early))
		result->r[0] = wp_twin(placement_rest_unchecked) ||
			       !wp_placement_has_global(&state->placement);
}

STRESS_ACTOR_CALL(read_word, result->r[1] = wp_load_relaxed(&state->carrier.word) == WP_WAKING)

STRESS_TEST(placement_nudge, .claim = "An idle carrier is woken for a global task.",
	    .upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state),
	    .init = init, .actors = {spills, parks}, .arbiter = read_word, .results = 2,
	    .outcomes = {
		    {"0,*", ACCEPTABLE, "the carrier saw the task"},
		    {"1,1", ACCEPTABLE, "the carrier was parked, and is woken"},
		    {"1,0", FORBIDDEN, "lost wakeup: the carrier sleeps, and nothing will wake it"},
	    });

STRESS_TWIN(placement_idle_early, .of = "placement_nudge",
	    .defect = "A carrier checks for global tasks before its word says that it is parked.",
	    .shows = "1,0", .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
STRESS_TWIN(placement_rest_unchecked, .of = "placement_nudge",
	    .defect = "A carrier sleeps though there are global tasks.", .shows = "1,0",
	    .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
STRESS_TWIN(placement_strand_global, .of = "placement_nudge",
	    .defect = "A submitter to the global queue wakes no carrier.", .shows = "1,0",
	    .seen_by = SEEN_ALL);
