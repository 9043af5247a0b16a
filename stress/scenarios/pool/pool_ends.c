/* SPDX-License-Identifier: Apache-2.0
 * pool_ends.c - a thread runs each job, or the stop closes it, and then the threads leave.
 *
 *   thread                      submitter, which stops the pool
 *   takes jobs, or leaves       execute; close; drain; wait
 *
 * Why it works  As in pools.h.
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

STRESS_TEST(pool, .claim = "Every job that was accepted is either run or closed.",
	    .upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {works, executes_and_stops}, .arbiter = read_fates, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "run"},
		    {"1,0,1", ACCEPTABLE, "closed"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the thread idles, though the pool is closed"},
		    {"*,*,*", FORBIDDEN, "a job was neither run nor closed, or both"},
	    });

/* One job is left after the close. Result: "accepted, run, closed". */
STRESS_INIT(init_closed)
{
	init_with(state, 1, 1);
	execute(state, 0);
	state->pool.is_closed = true;
}

STRESS_ACTOR_CALL(works_once, run_one(state, 0))

STRESS_ACTOR(drains)
{
	result->r[0] = 1;
	wp_pool_drain(&state->pool);
}

STRESS_TEST(pool_drain, .claim = "A job that the stop closes is not run.",
	    .upholds = "Pool!StopDrainsOnce", .state_size = sizeof(struct state),
	    .init = init_closed, .actors = {works_once, drains}, .arbiter = read_fates,
	    .results = 3,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "run"},
		    {"1,0,1", ACCEPTABLE, "closed"},
		    {"*,*,*", FORBIDDEN, "a job was neither run nor closed, or both"},
	    });

/* Another thread waits until the pool's threads have left. Result: "waited". */
STRESS_INIT(init_ending)
{
	init_with(state, 1, 1);
	state->pool.is_closed = true;
}

STRESS_ACTOR_CALL(waits, result->r[0] = wp__pool_wait(&state->pool, WP_FOREVER, false) == WP_OK)

STRESS_TEST(pool_wait, .claim = "A caller that waits for the pool's threads to end is woken.",
	    .upholds = "Pool!StopEnds", .state_size = sizeof(struct state), .init = init_ending,
	    .actors = {works, waits}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the caller was woken"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the caller waits, and all threads have left"},
	    });
