/* SPDX-License-Identifier: Apache-2.0
 * monitor.c - a step that is taken for one that makes no progress ends.
 *
 *   carrier                      monitor                  result: "a mark is left, it was to move
 *   ends: progress; load--       mark                          the queue"
 *   marked: unmark               it has ended: unmark
 *
 * Why it works  Both change one word; who comes second sees what the first has written before.
 * Spec          specs/sched/compensation/Monitor.tla. */
#include "sched/placement/placement.h"
#include "stress.h"

struct state {
	wp_placement placement;
	wp_placement_slot slot;
	wp_progress progress;
};

/* It runs its first step. */
STRESS_INIT(init)
{
	wp_placement_init(&state->placement, &state->slot, 1, WP_PLACE_HOME, false);
	state->placement.is_watched = true;
	wp_init(&state->slot.word, (uint64_t)1 << 32);
	wp_init(&state->progress, 1);
}

STRESS_INIT(init_dequeue)
{
	init(state);
	state->placement.at_dequeue = true;
	wp_init(&state->slot.word, 0);
}

STRESS_ACTOR(ends)
{
	wp_placement_step(&state->progress);
	if (wp_placement_ends(&state->placement, 0))
		wp_placement_unmark(&state->placement, 0);
}

STRESS_ACTOR(suspects)
{
	result->r[1] = wp_placement_suspect(&state->placement, 0, &state->progress, 1);
}

STRESS_ACTOR(read_word)
{
	result->r[0] = wp_load_relaxed(&state->slot.word) != 0;
}

STRESS_TEST(monitor, .claim = "A mark ends with the step that it was made for.",
	    .upholds = "Monitor!MarkIsOfWhoRuns", .state_size = sizeof(struct state), .init = init,
	    .actors = {ends, suspects}, .arbiter = read_word, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the monitor saw the end"},
		    {"0,1", ACCEPTABLE, "the end saw the mark"},
		    {"*", FORBIDDEN, "it runs nothing, and is marked"},
	    });

STRESS_TEST(monitor_dequeue, .claim = "So it does where a load is what is queued: none is left.",
	    .upholds = "Monitor!MarkEnds", .state_size = sizeof(struct state), .init = init_dequeue,
	    .actors = {ends, suspects}, .arbiter = read_word, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the monitor saw the end"},
		    {"0,1", ACCEPTABLE, "the end saw the mark"},
		    {"*", FORBIDDEN, "it runs nothing, and is marked"},
	    });
