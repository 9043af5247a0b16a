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

static void init(void *at)
{
	struct state *state = at;

	wp_placement_init(&state->placement, &state->slot, 1, WP_PLACE_HOME, false);
}

static void spills(void *at, stress_result *result)
{
	struct state *state = at;

	wp_fetch_add_relaxed(&state->global, 1);
	result->r[1] = wp_placement_spilled(&state->placement, 1);
}

static void rests(void *at, stress_result *result)
{
	struct state *state = at;

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

static void read_global(void *at, stress_result *result)
{
	struct state *state = at;

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
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);
STRESS_TWIN(placement_rest_unchecked, .of = "placement_global",
	.defect = "a carrier rests though there are global tasks", .shows = "*,0,1,0",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(placement_drain_uncounted, .of = "placement_global",
	.defect = "what is taken from the global queue stays counted there", .shows = "*,*,2,*",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* One takes one of two, and is the one whom the submitter wakes; another carrier is idle. Result:
 * "left there, wakes owed by the submitter, and by who took one". */
static void init_idle(void *at)
{
	init(at);
	wp_init(&((struct state *)at)->placement.global, 2);
}

static void spills_two(void *at, stress_result *result)
{
	struct state *state = at;

	wp_fetch_add_relaxed(&state->global, 2);
	result->r[1] = wp_placement_spilled(&state->placement, 2);
}

static void takes_one(void *at, stress_result *result)
{
	struct state *state = at;

	wp_placement_woken(&state->placement);
	if (!wp_placement_has_global(&state->placement))
		return;
	wp_fetch_add_relaxed(&state->global, (uint32_t)-1);
	result->r[2] = wp_placement_drained(&state->placement, 0, 1);
}

static void read_left(void *at, stress_result *result)
{
	result->r[0] = wp_load_relaxed(&((struct state *)at)->global);
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
	.shows = "1,1,0",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);
