/* SPDX-License-Identifier: Apache-2.0
 * monitor.c - a step ends as the monitor marks its carrier as blocked.
 *
 *   carrier                      monitor
 *   ends: progress; load--       mark
 *   marked: unmark               step has ended: unmark
 *
 * Result        "a mark is left, the monitor was to move the queue".
 * Why it works  Both threads change one word, so the second sees what the first wrote before.
 * Spec          specs/sched/compensation/Monitor.tla. */
#include "sched/placement/placement.h"
#include "stress.h"

struct state {
	wp_placement placement;
	wp_placement_slot slot;
	wp_progress progress;
};

/* The carrier runs its first step. */
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

STRESS_ACTOR_CALL(suspects,
		  result->r[1] = wp_placement_suspect(&state->placement, 0, &state->progress, 1))
STRESS_ACTOR_CALL(read_word, result->r[0] = wp_load_relaxed(&state->slot.word) != 0)

STRESS_TEST(monitor, .claim = "A mark ends with the step that it was made for.",
	    .upholds = "Monitor!MarkIsOfWhoRuns", .state_size = sizeof(struct state), .init = init,
	    .actors = {ends, suspects}, .arbiter = read_word, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the monitor saw that the step had ended"},
		    {"0,1", ACCEPTABLE, "the carrier saw the mark at the end of its step"},
		    {"*", FORBIDDEN, "the carrier runs nothing, and stays marked as blocked"},
	    });

STRESS_TEST(monitor_dequeue,
	    .claim = "A mark also ends with its step where the load counts queued tasks only.",
	    .upholds = "Monitor!MarkEnds", .state_size = sizeof(struct state), .init = init_dequeue,
	    .actors = {ends, suspects}, .arbiter = read_word, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the monitor saw that the step had ended"},
		    {"0,1", ACCEPTABLE, "the carrier saw the mark at the end of its step"},
		    {"*", FORBIDDEN, "the carrier runs nothing, and stays marked as blocked"},
	    });
