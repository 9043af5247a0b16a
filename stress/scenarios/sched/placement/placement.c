/* SPDX-License-Identifier: Apache-2.0
 * placement.c - each task is counted once, and none is left where no carrier looks.
 *
 *   submitter                    carrier 0
 *   choose; push; count          mark; move the queue
 *   if marked: move the queue
 *
 * Result        `placement_mark`: "left in its queue, load, global tasks not counted".
 * Why it works  Queues are counters, and each access to them is relaxed, so that only the words
 *               order them. A thread that takes from a queue reads it first, because a
 *               read-modify-write alone would be ordered by itself.
 * Spec          specs/sched/placement/Placement.tla. */
#include "sched/placement/placement.h"
#include "stress.h"

enum { CARRIERS = 2 };

struct state {
	wp_placement placement;
	wp_placement_slot slots[CARRIERS];
	wp_atomic(uint32_t) queues[CARRIERS], global, ran, is_marked;
};

static void init_as(struct state *state, uint32_t carriers, bool at_dequeue)
{
	wp_placement_init(&state->placement, state->slots, carriers, WP_PLACE_HOME, at_dequeue);
}

STRESS_INIT(init)
{
	init_as(state, 1, false);
}

STRESS_INIT(init_two)
{
	init_as(state, CARRIERS, false);
}

/* Carrier 0 has a task. */
STRESS_INIT(init_busy)
{
	init_two(state);
	wp_init(&state->slots[0].word, (uint64_t)1 << 32);
	wp_init(&state->queues[0], 1);
}

STRESS_INIT(init_busy_dequeue)
{
	init_busy(state);
	state->placement.at_dequeue = true;
}

static void spill(struct state *state, uint32_t many)
{
	wp_fetch_add_relaxed(&state->global, many);
	wp_placement_spilled(&state->placement, many);
}

static void move(struct state *state, uint32_t carrier)
{
	uint32_t many;

	if (wp_load_relaxed(&state->queues[carrier]) == 0)
		return;
	many = wp_fetch_and_relaxed(&state->queues[carrier], 0);
	wp_placement_moved(&state->placement, carrier, many);
	spill(state, many);
}

static bool pop(struct state *state, uint32_t carrier)
{
	uint32_t many = wp_load_relaxed(&state->queues[carrier]);

	while (many > 0)
		if (wp_cas_relaxed(&state->queues[carrier], &many, many - 1))
			return true;
	return false;
}

STRESS_ACTOR(submits)
{
	uint64_t random = 1;
	uint32_t carrier = wp_placement_choose(&state->placement, 0, &random);

	if (carrier == WP_PLACE_GLOBAL) {
		spill(state, 1);
		return;
	}
	wp_fetch_add_relaxed(&state->queues[carrier], 1);
	if (!wp_placement_submitted(&state->placement, carrier))
		move(state, carrier);
}

STRESS_ACTOR(blocks)
{
	if (wp_placement_mark(&state->placement, 0))
		move(state, 0);
}

static int32_t high_of(wp_atomic(uint64_t) *word)
{
	return (int32_t)(uint32_t)(wp_load_relaxed(word) >> 32);
}

static int32_t uncounted(struct state *state)
{
	return (int32_t)wp_load_relaxed(&state->global) -
	       (int32_t)wp_load_relaxed(&state->placement.global);
}

STRESS_ACTOR(read_marked)
{
	result->r[0] = wp_load_relaxed(&state->queues[0]);
	result->r[1] = high_of(&state->slots[0].word);
	result->r[2] = uncounted(state);
}

STRESS_TEST(placement_mark, .claim = "No task stays with a blocked carrier, or is counted there.",
	    .upholds = "Placement!BlockingNeverTargeted", .state_size = sizeof(struct state),
	    .init = init, .actors = {submits, blocks}, .arbiter = read_marked, .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "the task is in the global queue"},
		    {"0,*,*", FORBIDDEN, "the load went down by another number than was moved"},
		    {"*", LOST_WORK, "lost task: it waits for a carrier that is blocked"},
	    });

/* The carrier blocks for a while, and then runs the tasks that are left in its queue. Result:
 * "tasks lost, load less what is queued, global tasks not counted". */
STRESS_ACTOR(blocks_a_while)
{
	blocks(state, result);
	wp_placement_unmark(&state->placement, 0);
}

STRESS_ACTOR(read_after)
{
	int32_t queued = (int32_t)wp_load_relaxed(&state->queues[0]);

	result->r[0] = 2 - queued - (int32_t)wp_load_relaxed(&state->global);
	result->r[1] = high_of(&state->slots[0].word) - queued;
	result->r[2] = uncounted(state);
}

STRESS_TEST(placement_unmark,
	    .claim = "A task that arrives as its carrier blocks is queued, and counted once.",
	    .upholds = "Placement!CounterBalance", .state_size = sizeof(struct state), .init = init,
	    .actors = {submits, submits, blocks_a_while}, .arbiter = read_after, .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "both tasks are where they are counted"},
		    {"*", FORBIDDEN, "a task is lost, or is not counted once"},
	    });

/* Carrier 0 runs its tasks while carrier 1 steals. Result: "load less what is queued" for both
 * carriers, then "tasks that are neither queued nor have run". */
STRESS_ACTOR(runs)
{
	if (!pop(state, 0))
		return;
	wp_placement_begins(&state->placement, 0);
	wp_fetch_add_relaxed(&state->ran, 1);
	wp_placement_ends(&state->placement, 0);
}

STRESS_ACTOR(steals)
{
	if (!pop(state, 0))
		return;
	wp_placement_stolen(&state->placement, 0, 1);
	wp_fetch_add_relaxed(&state->ran, 1);
	wp_placement_ends(&state->placement, 1);
}

STRESS_ACTOR(read_counts)
{
	int32_t queued = (int32_t)wp_load_relaxed(&state->queues[0]);

	result->r[0] = high_of(&state->slots[0].word) - queued;
	result->r[1] = high_of(&state->slots[1].word);
	result->r[2] = 2 - queued - (int32_t)wp_load_relaxed(&state->ran);
}

STRESS_TEST(placement_counts,
	    .claim = "A carrier's load is the tasks that are queued or run there.",
	    .upholds = "Placement!CounterBalance", .state_size = sizeof(struct state),
	    .init = init_busy, .actors = {submits, runs, steals}, .arbiter = read_counts,
	    .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "each task is counted once, where it is"},
		    {"*", FORBIDDEN, "a task is lost, or is not counted once"},
	    });

STRESS_TEST(placement_dequeue,
	    .claim = "A carrier's load is its queued tasks only, where the group is so configured.",
	    .upholds = "Placement!CounterBalance", .state_size = sizeof(struct state),
	    .init = init_busy_dequeue, .actors = {submits, runs, steals}, .arbiter = read_counts,
	    .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "each task is counted once, where it is"},
		    {"*", FORBIDDEN, "a task is lost, or is not counted once"},
	    });

/* A submitter may know that a carrier is blocked. Result: "chosen, it knew". */
STRESS_ACTOR(marks)
{
	wp_placement_mark(&state->placement, 0);
	wp_store_release(&state->is_marked, 1);
}

STRESS_ACTOR(chooses)
{
	uint64_t random = 1;

	result->r[1] = wp_load_acquire(&state->is_marked);
	result->r[0] = wp_placement_choose(&state->placement, 0, &random);
}

STRESS_TEST(placement_choose,
	    .claim = "A blocked carrier is not chosen while another carrier is not blocked.",
	    .upholds = "Placement!BlockingNeverTargeted", .state_size = sizeof(struct state),
	    .init = init_two, .actors = {marks, chooses}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "carrier 0 was not marked yet"},
		    {"1,*", ACCEPTABLE, "the other carrier was chosen"},
		    {"*", FORBIDDEN, "the blocked carrier was chosen, or none"},
	    });
