/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.c - spares replace blocked carriers while others mark, submit, sleep and close.
 *
 *   marks 0                      marks 1, and unmarks it
 *   lock; decide; unlock         lock; decide; unlock
 *
 * Result        `spare_carrier`: "eligible, active, threads that were started twice".
 * Why it works  Queues are counters, and each access to them is relaxed, as in placement.c.
 * Spec          specs/sched/compensation/SpareCarrier.tla. */
#include "spare_carriers.h"

STRESS_INIT(init)
{
	init_as(state, 2, 4);
}

STRESS_ACTOR(blocks_a_while)
{
	mark(state, 1);
	unmark(state, 1);
}

STRESS_ACTOR(read_all)
{
	for (uint32_t carrier = 0; carrier < state->placement.count; carrier++) {
		result->r[0] += (uint32_t)wp_load_relaxed(&state->slots[carrier].word) == 0;
		result->r[1] += carrier >= state->all.carriers &&
				!wp_spare_carrier_is_dormant(&state->placement, carrier);
		result->r[2] += wp_load_relaxed(&state->threads[carrier]) > 1;
	}
}

STRESS_TEST(spare_carrier, .claim = "As many carriers as configured can be given tasks.",
	    .upholds = "SpareCarrier!EligibleKept", .state_size = sizeof(struct state),
	    .init = init, .actors = {blocks, blocks_a_while}, .arbiter = read_all, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"2,1,0", ACCEPTABLE,
		     "one carrier is marked as blocked, and a spare replaces it"},
		    {"*", FORBIDDEN, "too few carriers, too many, or a carrier with two threads"},
	    });

STRESS_TWIN(spare_carrier_mark_silent, .of = "spare_carrier",
	    .defect = "A thread that marks a carrier as blocked does not start a spare carrier.",
	    .shows = "1,0,0", .seen_by = SEEN_ALL);
STRESS_TWIN(spare_carrier_unmark_silent, .of = "spare_carrier",
	    .defect = "No spare carrier retires when a mark ends.", .shows = "3,2,0",
	    .seen_by = SEEN_ALL);

/* When carrier 0's mark ends, carriers 1 and 2, the spares, are marked. A thread that has counted
 * one carrier too many finds no spare to retire. Result: "eligible, configured carriers that are
 * idle spares". */
STRESS_INIT(init_stand_in)
{
	init_as(state, 2, 3);
	mark(state, 0);
}

STRESS_ACTOR_CALL(blocks_1, mark(state, 1))
STRESS_ACTOR_CALL(blocks_2, mark(state, 2))

STRESS_ACTOR(read_configured)
{
	for (uint32_t carrier = 0; carrier < state->placement.count; carrier++) {
		result->r[0] += (uint32_t)wp_load_relaxed(&state->slots[carrier].word) == 0;
		result->r[1] += carrier < state->all.carriers &&
				wp_spare_carrier_is_dormant(&state->placement, carrier);
	}
}

STRESS_TEST(spare_carrier_none, .claim = "A configured carrier is never retired.",
	    .upholds = "SpareCarrier!EligibleKept", .state_size = sizeof(struct state),
	    .init = init_stand_in, .actors = {goes_on, blocks_1, blocks_2},
	    .arbiter = read_configured, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "carrier 0 can be given tasks, and no spare is left"},
		    {"*", FORBIDDEN,
		     "too few carriers can be given tasks, or a configured one was retired"},
	    });

/* Both configured carriers are marked as blocked. */
STRESS_TEST(spare_carrier_both, .claim = "Each carrier that is marked as blocked is replaced.",
	    .upholds = "SpareCarrier!OneThread", .state_size = sizeof(struct state), .init = init,
	    .actors = {blocks, blocks_1}, .arbiter = read_all, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"2,2,0", ACCEPTABLE, "two spares replace the two carriers"},
		    {"*", FORBIDDEN, "too few carriers, or a carrier with two threads"},
	    });

/* The system starts no thread. Result: "tasks that are left with a spare carrier". */
STRESS_INIT(init_refusing)
{
	init_as(state, 1, 2);
	state->refuses = true;
}

STRESS_ACTOR(submits)
{
	uint64_t random = 1;
	uint32_t carrier = wp_placement_choose(&state->placement, 1, &random);

	if (carrier == WP_PLACE_GLOBAL)
		carrier = 0; /* and its queue is then moved */
	wp_fetch_add_relaxed(&state->queues[carrier], 1);
	if (!wp_placement_submitted(&state->placement, carrier))
		move(state, carrier);
}

STRESS_ACTOR_CALL(read_left, result->r[0] = wp_load_relaxed(&state->queues[1]))

STRESS_TEST(spare_carrier_refused, .claim = "A spare carrier without a thread is given no tasks.",
	    .upholds = "SpareCarrier!TargetHasThread", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {blocks, submits}, .arbiter = read_left, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the task's own carrier runs it, or the next one"},
		    {"*", FORBIDDEN, "no thread will run the task"},
	    });

/* Result: as above. */
STRESS_TEST(spare_carrier_retired, .claim = "A spare carrier that retires is left without tasks.",
	    .upholds = "SpareCarrier!RetiredIsEmpty", .state_size = sizeof(struct state),
	    .init = init_marked, .actors = {goes_on, submits}, .arbiter = read_left, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the task was moved, or given to the other carrier"},
		    {"*", LOST_WORK, "lost task: it waits for a carrier that is an idle spare"},
	    });

/* Result: "threads that get a stop, threads". */
STRESS_INIT(init_one)
{
	init_as(state, 1, 2);
}

STRESS_ACTOR(closes)
{
	if (wp_twin(spare_carrier_stops_first))
		result->r[0] = wp_load_relaxed(&state->threads[1]);
	wp_spare_carriers_end(&state->all);
	if (!wp_twin(spare_carrier_stops_first))
		result->r[0] = wp_load_relaxed(&state->threads[1]);
}

STRESS_ACTOR_CALL(read_threads, result->r[1] = wp_load_relaxed(&state->threads[1]))

STRESS_TEST(spare_carrier_close, .claim = "The close stops every thread.",
	    .upholds = "SpareCarrier!StopReachesAll", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {blocks, closes}, .arbiter = read_threads, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "no thread was started"},
		    {"1,1", ACCEPTABLE, "the thread is stopped"},
		    {"*", FORBIDDEN, "leak: a thread is left without a stop"},
	    });

STRESS_TWIN(spare_carrier_stops_first, .of = "spare_carrier_close",
	    .defect = "The close sends its stops before it has the lock.", .shows = "0,1",
	    .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
