/* SPDX-License-Identifier: Apache-2.0
 * placement_global.c - tasks for which no carrier was to be had, and one with nothing to run.
 *
 *   submitter                    carrier                      result: "left there, 1: it has looked,
 *   push; count                  global tasks: take them      2: it was told of a task and found none;
 *                                none: done                   not counted"
 *
 * Why it works  As placement.c: the queues are numbers, and only the word orders them. That who
 *               sleeps is woken: placement_nudge.c, placement_runs.c.
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

STRESS_TEST(placement_global, .claim = "A global task that is counted is there.",
	    .upholds = "Placement!CounterBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {spills, spills, looks}, .arbiter = read_global, .results = 3,
	    .outcomes = {
		    {"*,1,0", ACCEPTABLE, "it took what was counted"},
		    {"*", FORBIDDEN, "what is counted is not what is there"},
	    });

/* One takes one of two. Result: "left there, a wake owed by who took one". */
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

STRESS_ACTOR(read_left)
{
	result->r[0] = wp_load_relaxed(&state->global);
}

STRESS_TEST(placement_share, .claim = "Who leaves a global task to others is to wake one of them.",
	    .upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state),
	    .init = init, .actors = {spills_two, takes_one}, .arbiter = read_left, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "it took one, and wakes another carrier"},
		    {"2,0", ACCEPTABLE, "it came too soon: the submitter's wake is on its way"},
		    {"*", FORBIDDEN, "a task is left, and nobody will wake anybody"},
	    });
