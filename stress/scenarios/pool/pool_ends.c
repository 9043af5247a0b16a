/* SPDX-License-Identifier: Apache-2.0
 * pool_ends.c - each job is run by a thread, or closed by the stop, and the threads leave.
 *
 *   thread                      who has jobs, and stops it
 *   takes jobs, or leaves       execute; close; drain; wait
 *
 * Why it works  As pools.h.
 * Spec          specs/pool/Pool.tla. */
#include "pools.h"

STRESS_ACTOR(works)
{
	wp_job job;

	while (wp__pool_next(&state->threads[0], &job))
		job.run(job.arg);
}

STRESS_ACTOR(read_fates)
{
	result->r[1] = state->runs[0] + state->runs[1];
	result->r[2] = state->closes[0] + state->closes[1];
}

/* Result: "accepted, run, closed". */
STRESS_INIT(init_one)
{
	init_with(state, 1, 1);
}

STRESS_ACTOR(executes_and_stops)
{
	executes(state, result);
	wp__pool_close(&state->pool);
	wp_pool_drain(&state->pool);
}

STRESS_TEST(pool, .claim = "A job that was accepted is run, or closed.",
	    .upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {works, executes_and_stops}, .arbiter = read_fates, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "run"},
		    {"1,0,1", ACCEPTABLE, "closed"},
		    {"asleep", FORBIDDEN, "the thread rests, and the close has been there"},
		    {"*,*,*", FORBIDDEN, "neither, or both"},
	    });

/* After the close, one job is left. Result: "accepted, run, closed". */
STRESS_INIT(init_closed)
{
	init_with(state, 1, 1);
	execute(state, 0);
	state->pool.is_closed = true;
}

STRESS_ACTOR(works_once)
{
	run_one(state, 0);
}

STRESS_ACTOR(drains)
{
	result->r[0] = 1;
	wp_pool_drain(&state->pool);
}

STRESS_TEST(pool_drain, .claim = "What the stop closes is run by nobody.",
	    .upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state),
	    .init = init_closed, .actors = {works_once, drains}, .arbiter = read_fates,
	    .results = 3,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "run"},
		    {"1,0,1", ACCEPTABLE, "closed"},
		    {"*,*,*", FORBIDDEN, "neither, or both"},
	    });

/* Somebody waits for the end. Result: "waited". */
STRESS_INIT(init_ending)
{
	init_with(state, 1, 1);
	state->pool.is_closed = true;
}

STRESS_ACTOR(waits)
{
	result->r[0] = wp__pool_wait(&state->pool, WP_FOREVER, false) == WP_OK;
}

STRESS_TEST(pool_wait, .claim = "Who waits for the threads is told.", .upholds = "Pool!StopEnds",
	    .state_size = sizeof(struct state), .init = init_ending, .actors = {works, waits},
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "it was told"},
		    {"asleep", FORBIDDEN, "it waits, and all have left"},
	    });
