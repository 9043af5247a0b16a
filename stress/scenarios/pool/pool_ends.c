/* SPDX-License-Identifier: Apache-2.0
 * pool_ends.c - each job is run by a thread, or closed by the stop, and the threads leave.
 *
 *   thread                      who has jobs, and stops it
 *   takes jobs, or leaves       execute; close; drain; wait
 *
 * Why it works  As pools.h.
 * Spec          specs/pool/Pool.tla. */
#include "pools.h"

static void works(void *at, stress_result *result)
{
	struct state *state = at;
	wp_job job;

	(void)result;
	while (wp__pool_next(&state->threads[0], &job))
		job.run(job.arg);
}

static void read_fates(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[1] = state->runs[0] + state->runs[1];
	result->r[2] = state->closes[0] + state->closes[1];
}

/* Result: "accepted, run, closed". */
static void init_one(void *at)
{
	init_with(at, 1, 1);
}

static void executes_and_stops(void *at, stress_result *result)
{
	struct state *state = at;

	executes(at, result);
	wp__pool_close(&state->pool);
	wp_pool_drain(&state->pool);
}

STRESS_TEST(pool, .claim = "A job that was accepted is run, or closed.",
	.upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state), .init = init_one,
	.actors = {works, executes_and_stops}, .arbiter = read_fates, .results = 3, .blocking = 1,
	.outcomes = {
		{"1,1,0", ACCEPTABLE, "run"},
		{"1,0,1", ACCEPTABLE, "closed"},
		{"asleep", FORBIDDEN, "the thread rests, and the close has been there"},
		{"*,*,*", FORBIDDEN, "neither, or both"},
	});

STRESS_TWIN(pool_taken_dropped, .of = "pool", .defect = "drops a job that it took before the stop",
	.shows = "1,0,0", .seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11,
	.chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(pool_close_silent, .of = "pool", .defect = "the close wakes nobody", .shows = "asleep",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);

/* After the close, one job is left. Result: "accepted, run, closed". */
static void init_closed(void *at)
{
	struct state *state = at;

	init_with(state, 1, 1);
	execute(state, 0);
	state->pool.is_closed = true;
}

static void works_once(void *at, stress_result *result)
{
	(void)result;
	run_one(at, 0);
}

static void drains(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[0] = 1;
	wp_pool_drain(&state->pool);
}

STRESS_TEST(pool_drain, .claim = "What the stop closes is run by nobody.",
	.upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state), .init = init_closed,
	.actors = {works_once, drains}, .arbiter = read_fates, .results = 3,
	.outcomes = {
		{"1,1,0", ACCEPTABLE, "run"},
		{"1,0,1", ACCEPTABLE, "closed"},
		{"*,*,*", FORBIDDEN, "neither, or both"},
	});

STRESS_TWIN(pool_drain_unchecked, .of = "pool_drain",
	.defect = "looks at one, and takes it later", .shows = "1,1,1",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);

/* Somebody waits for the end. Result: "waited". */
static void init_ending(void *at)
{
	struct state *state = at;

	init_with(state, 1, 1);
	state->pool.is_closed = true;
}

static void waits(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[0] = wp__pool_wait(&state->pool, WP_FOREVER, false) == WP_OK;
}

STRESS_TEST(pool_wait, .claim = "Who waits for the threads is told.", .upholds = "Pool!StopEnds",
	.state_size = sizeof(struct state), .init = init_ending, .actors = {works, waits},
	.results = 1, .blocking = 1,
	.outcomes = {
		{"1", REQUIRED, "it was told"},
		{"asleep", FORBIDDEN, "it waits, and all have left"},
	});

STRESS_TWIN(pool_leaves_silently, .of = "pool_wait", .defect = "leaves, and tells nobody",
	.shows = "asleep", .seen_by = SEEN_SC | SEEN_TSO | SEEN_RC11,
	.chance = SEEN_STRESS | SEEN_DELAYED);
