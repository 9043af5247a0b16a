/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.c - carriers that are marked are replaced while others mark, submit, sleep, close.
 *
 *   marks 0                      marks 1, and unmarks it     `spare_carrier`: "eligible, active,
 *   lock; decide; unlock         lock; decide; unlock        threads that were started twice"
 *
 * Why it works  Queues are numbers, and each access to them is relaxed, as in placement.c.
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

STRESS_TEST(spare_carrier, .claim = "As many may be given tasks as are configured.",
	    .upholds = "SpareCarrier!EligibleKept", .state_size = sizeof(struct state),
	    .init = init, .actors = {blocks, blocks_a_while}, .arbiter = read_all, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"2,1,0", ACCEPTABLE, "one is marked, and one stands in for it"},
		    {"*", FORBIDDEN, "too few, too many, or two threads of one"},
	    });

STRESS_TWIN(spare_carrier_mark_silent, .of = "spare_carrier",
	    .defect = "who has marked a carrier does not see to a spare carrier", .shows = "1,0,0",
	    .seen_by = SEEN_ALL);
STRESS_TWIN(spare_carrier_unmark_silent, .of = "spare_carrier",
	    .defect = "the end of a mark retires nobody", .shows = "3,2,0", .seen_by = SEEN_ALL);

/* As the mark of 0 ends, 1 and 2, who stood in, are marked: who has counted one too many finds
 * nobody to retire. Result: "eligible, configured ones that are dormant". */
STRESS_INIT(init_stand_in)
{
	init_as(state, 2, 3);
	mark(state, 0);
}

STRESS_ACTOR(blocks_1)
{
	mark(state, 1);
}

STRESS_ACTOR(blocks_2)
{
	mark(state, 2);
}

STRESS_ACTOR(read_configured)
{
	for (uint32_t carrier = 0; carrier < state->placement.count; carrier++) {
		result->r[0] += (uint32_t)wp_load_relaxed(&state->slots[carrier].word) == 0;
		result->r[1] += carrier < state->all.carriers &&
				wp_spare_carrier_is_dormant(&state->placement, carrier);
	}
}

STRESS_TEST(spare_carrier_none, .claim = "Who is configured is never retired.",
	    .upholds = "SpareCarrier!EligibleKept", .state_size = sizeof(struct state),
	    .init = init_stand_in, .actors = {goes_on, blocks_1, blocks_2},
	    .arbiter = read_configured, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "0 may be given tasks, and nobody is left to stand in"},
		    {"*", FORBIDDEN, "too few, or a configured one is dormant"},
	    });

/* Both are marked. */
STRESS_TEST(spare_carrier_both, .claim = "Each that is marked is replaced.",
	    .upholds = "SpareCarrier!OneThread", .state_size = sizeof(struct state), .init = init,
	    .actors = {blocks, blocks_1}, .arbiter = read_all, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"2,2,0", ACCEPTABLE, "two stand in"},
		    {"*", FORBIDDEN, "too few, or two threads of one"},
	    });

/* No thread is to be had. Result: "tasks that are left with a spare carrier". */
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
		carrier = 0; /* whose queue is then moved */
	wp_fetch_add_relaxed(&state->queues[carrier], 1);
	if (!wp_placement_submitted(&state->placement, carrier))
		move(state, carrier);
}

STRESS_ACTOR(read_left)
{
	result->r[0] = wp_load_relaxed(&state->queues[1]);
}

STRESS_TEST(spare_carrier_refused, .claim = "Nobody is given tasks who has no thread.",
	    .upholds = "SpareCarrier!TargetHasThread", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {blocks, submits}, .arbiter = read_left, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "its carrier runs it, or whoever is next"},
		    {"*", FORBIDDEN, "nobody will run it"},
	    });

/* Result: as above. */
STRESS_TEST(spare_carrier_retired, .claim = "Who is retired is left without tasks.",
	    .upholds = "SpareCarrier!RetiredIsEmpty", .state_size = sizeof(struct state),
	    .init = init_marked, .actors = {goes_on, submits}, .arbiter = read_left, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "moved, or given to the other one"},
		    {"*", LOST_WORK, "a task waits for a carrier that is dormant"},
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

STRESS_ACTOR(read_threads)
{
	result->r[1] = wp_load_relaxed(&state->threads[1]);
}

STRESS_TEST(spare_carrier_close, .claim = "The close knows each thread.",
	    .upholds = "SpareCarrier!StopReachesAll", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {blocks, closes}, .arbiter = read_threads, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "none was started"},
		    {"1,1", ACCEPTABLE, "it is stopped"},
		    {"*", FORBIDDEN, "a thread is left"},
	    });

STRESS_TWIN(spare_carrier_stops_first, .of = "spare_carrier_close",
	    .defect = "the close sends its stops before it has the lock", .shows = "0,1",
	    .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);
