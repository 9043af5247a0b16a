/* SPDX-License-Identifier: Apache-2.0
 * placement_runs.c - tasks for which no carrier was available, and a carrier that sleeps until it
 * has run them.
 *
 *   submitter                    carrier
 *   push; count                  global tasks: take one, run it
 *   wake it, if it is parked     none: word := PARKED; [carrier.6]; none still: sleep
 *
 * Result        "run".
 * Why it works  As in placement_nudge.c, with a real sleep: a carrier that finds no task is woken
 *               for the next one.
 * Spec          specs/sched/placement/Placement.tla. */
#include "sched/compensation/spare_carrier.h"
#include "stress.h"
#include "sched/timer.h"

struct state {
	wp_carrier carrier;
	wp_placement placement;
	wp_placement_slot slot;
	wp_atomic(uint32_t) global;
};

STRESS_INIT(init)
{
	wp_carrier_init(&state->carrier, NULL, 0);
	wp_placement_init(&state->placement, &state->slot, 1, WP_PLACE_HOME, false);
}

STRESS_ACTOR(spills)
{
	wp_fetch_add_relaxed(&state->global, 1);
	wp_placement_spilled(&state->placement, 1);
	wp_spare_carrier_fence();
	if (!wp_twin(placement_nudge_unsent))
		wp__timers_end_sleep(&state->carrier);
}

/* As a carrier's park (worker.c). */
static void sleeps(struct state *state)
{
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen))
		return;
	if (!wp_placement_has_global(&state->placement))
		wp_carrier_sleep_until(&state->carrier, WP_FOREVER);
	wp_carrier_leave(&state->carrier);
}

STRESS_ACTOR(carries)
{
	while (result->r[0] == 0) {
		if (!wp_placement_has_global(&state->placement)) {
			sleeps(state);
			continue;
		}
		wp_fetch_add_relaxed(&state->global, (uint32_t)-1);
		wp_placement_drained(&state->placement, 0, 1);
		result->r[0]++;
	}
}

STRESS_TEST(placement_runs, .claim = "A sleeping carrier wakes for a global task, and runs it.",
	    .upholds = "Placement!AllRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {spills, carries}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the carrier has run the task"},
		    {"asleep", FORBIDDEN, "lost wakeup: the carrier sleeps, and a task waits"},
		    {"stuck", FORBIDDEN, "the carrier checks for ever, and takes no task"},
	    });

STRESS_TWIN(placement_nudge_unsent, .of = "placement_runs",
	    .defect = "A submitter to the global queue wakes no carrier.", .shows = "asleep",
	    .seen_by = SEEN_EXPLORED, .chance = SEEN_CORES);
