/* SPDX-License-Identifier: Apache-2.0
 * placement_global.c - tasks for which no carrier was available, and a carrier with nothing to run.
 *
 *   submitter                    carrier
 *   push; count                  global tasks: take them
 *                                none: done
 *
 * Result        "left there, 1: it has looked, 2: it saw a count and found no task; not counted".
 * Why it works  As in placement.c, the queues are counters, and only the word orders them.
 *               placement_nudge.c and placement_runs.c show that a sleeping carrier is woken.
 * Spec          specs/sched/placement/Placement.tla. */
#include "sched/placement/placement.h"
#include "stress.h"

struct state {
	wp_placement placement;
	wp_placement_slot slot;
	wp_atomic(uint32_t) global, queue;
};

STRESS_INIT(init)
{
	wp_placement_init(&state->placement, &state->slot, 1, WP_PLACE_HOME, false);
}

STRESS_ACTOR(spills)
{
	wp_fetch_add_relaxed(&state->global, 1);
	wp_placement_spilled(&state->placement, 1);
}

STRESS_ACTOR(looks)
{
	while (wp_placement_has_global(&state->placement)) {
		uint32_t many;

		if (wp_load_relaxed(&state->global) == 0) {
			result->r[1] = 2;
			return;
		}
		many = wp_fetch_and_relaxed(&state->global, 0);
		wp_fetch_add_relaxed(&state->queue, many);
		wp_placement_drained(&state->placement, 0, many);
	}
	result->r[1] = 1;
}

static int32_t high_of(wp_atomic(uint64_t) *word)
{
	return (int32_t)(uint32_t)(wp_load_relaxed(word) >> 32);
}

STRESS_ACTOR(read_global)
{
	result->r[0] = wp_load_relaxed(&state->global);
	result->r[2] = (int32_t)wp_load_relaxed(&state->global) -
		       (int32_t)wp_load_relaxed(&state->placement.global);
	result->r[2] += (int32_t)wp_load_relaxed(&state->queue) - high_of(&state->slot.word);
}

STRESS_TEST(placement_global, .claim = "A global task that is counted is in the queue.",
	    .upholds = "Placement!CounterBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {spills, spills, looks}, .arbiter = read_global, .results = 3,
	    .outcomes = {
		    {"*,1,0", ACCEPTABLE, "the carrier took the tasks that are counted"},
		    {"*", FORBIDDEN, "the count differs from the queue"},
	    });

/* One of two tasks is taken. Result: "left there, the taker owes a wakeup". */
STRESS_ACTOR(spills_two)
{
	wp_fetch_add_relaxed(&state->global, 2);
	wp_placement_spilled(&state->placement, 2);
}

STRESS_ACTOR(takes_one)
{
	if (!wp_placement_has_global(&state->placement))
		return;
	wp_fetch_add_relaxed(&state->global, (uint32_t)-1);
	result->r[1] = wp_placement_drained(&state->placement, 0, 1);
}

STRESS_ACTOR_CALL(read_left, result->r[0] = wp_load_relaxed(&state->global))

STRESS_TEST(placement_share,
	    .claim = "A carrier that leaves global tasks to others wakes one of them.",
	    .upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state),
	    .init = init, .actors = {spills_two, takes_one}, .arbiter = read_left, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the carrier took one task, and wakes another carrier"},
		    {"2,0", ACCEPTABLE,
		     "the carrier came too early: the submitter's wakeup is on its way"},
		    {"*", FORBIDDEN, "lost wakeup: a task is left, and no carrier will be woken"},
	    });
