/* SPDX-License-Identifier: Apache-2.0
 * placement_global.c - tasks for which no carrier was to be had, and one with nothing to run.
 *
 *   submitter                    carrier                      result: "left there, wakes owed,
 *   push; count                  global tasks: take them      1: it is idle, 2: it was told of
 *   somebody is idle: a wake     none: idle                   a task and found none; not counted"
 *
 * Why it works  As placement.c: the queues are numbers, and only the word orders them.
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
	result->r[1] = wp_placement_spilled(&state->placement, 1);
}

STRESS_ACTOR(rests)
{
	for (;;) {
		uint32_t many;

		if (!wp_placement_has_global(&state->placement)) {
			if (wp_placement_rest(&state->placement))
				break;
			continue;
		}
		if (wp_load_relaxed(&state->global) == 0) {
			result->r[2] = 2;
			return;
		}
		many = wp_fetch_and_relaxed(&state->global, 0);
		wp_fetch_add_relaxed(&state->queue, many);
		wp_placement_drained(&state->placement, 0, many);
	}
	result->r[2] = 1;
}

static int32_t high_of(wp_atomic(uint64_t) *word)
{
	return (int32_t)(uint32_t)(wp_load_relaxed(word) >> 32);
}

STRESS_ACTOR(read_global)
{
	result->r[0] = wp_load_relaxed(&state->global);
	result->r[3] = (int32_t)wp_load_relaxed(&state->global) - high_of(&state->placement.global);
	result->r[3] += (int32_t)wp_load_relaxed(&state->queue) - high_of(&state->slot.word);
}

STRESS_TEST(placement_global, .claim = "Nobody is idle for good while there are global tasks.",
	.upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state), .init = init,
	.actors = {spills, spills, rests}, .arbiter = read_global, .results = 4,
	.outcomes = {
		{"0,*,1,0", ACCEPTABLE, "it took them"},
		{"*,0,1,0", FORBIDDEN, "it is idle, and nobody will wake it"},
		{"*,*,1,0", ACCEPTABLE, "a wake is on its way"},
		{"*", FORBIDDEN, "what is counted is not what is there"},
	});

STRESS_TWIN(placement_strand_global, .of = "placement_global",
	.defect = "who puts into the global queue wakes nobody", .shows = "*,0,1,0",
	.seen_by = SEEN_ALL);
STRESS_TWIN(placement_rest_unchecked, .of = "placement_global",
	.defect = "a carrier rests though there are global tasks", .shows = "*,0,1,0",
	.seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
STRESS_TWIN(placement_drain_uncounted, .of = "placement_global",
	.defect = "what is taken from the global queue stays counted there", .shows = "*,*,2,*",
	.seen_by = SEEN_ALL);

/* One takes one of two, and is the one whom the submitter wakes; another carrier is idle. Result:
 * "left there, wakes owed by the submitter, and by who took one". */
STRESS_INIT(init_idle)
{
	init(state);
	wp_init(&state->placement.global, 2);
}

STRESS_ACTOR(spills_two)
{
	wp_fetch_add_relaxed(&state->global, 2);
	result->r[1] = wp_placement_spilled(&state->placement, 2);
}

STRESS_ACTOR(takes_one)
{
	wp_placement_woken(&state->placement);
	if (!wp_placement_has_global(&state->placement))
		return;
	wp_fetch_add_relaxed(&state->global, (uint32_t)-1);
	result->r[2] = wp_placement_drained(&state->placement, 0, 1);
}

STRESS_ACTOR(read_left)
{
	result->r[0] = wp_load_relaxed(&state->global);
}

STRESS_TEST(placement_share, .claim = "Who leaves a global task to others wakes one who is idle.",
	.upholds = "Placement!NoStrandedGlobal", .state_size = sizeof(struct state),
	.init = init_idle, .actors = {spills_two, takes_one}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"1,1,1", ACCEPTABLE, "it took one, and wakes the other carrier"},
		{"2,1,0", ACCEPTABLE, "it came too soon: the submitter's wake is on its way"},
		{"*", FORBIDDEN, "a carrier is idle, and nobody will wake it"},
	});

STRESS_TWIN(placement_drain_silent, .of = "placement_share",
	.defect = "who takes one of many global tasks wakes nobody for the others",
	.shows = "1,1,0", .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
