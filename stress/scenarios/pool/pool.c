/* SPDX-License-Identifier: Apache-2.0
 * pool.c - a job finds a thread: one that rests, leaves, has begun, or is started.
 *
 *   thread                      who has jobs              result: "accepted, run, starts"
 *   takes one job, or leaves    execute
 *
 * Why it works  As pools.h.
 * Spec          specs/pool/Pool.tla. */
#include "pools.h"

/* A thread that was just started, and one may be started still. Result: "accepted, run, starts". */
STRESS_INIT(init_begun)
{
	init_with(state, 1, 2);
}

STRESS_ACTOR(takes_one)
{
	result->r[1] = run_one(state, 0);
}

STRESS_ACTOR(read_starts)
{
	result->r[2] = state->starts;
}

STRESS_TEST(pool_begun, .claim = "A thread that has just begun has the job.",
	    .upholds = "Pool!NoSpuriousThread", .state_size = sizeof(struct state),
	    .init = init_begun, .actors = {takes_one, executes}, .arbiter = read_starts,
	    .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", REQUIRED, "it has run it"},
		    {"asleep", FORBIDDEN,
		     "it rests, and the job waits, or another was started for it"},
		    {"*,*,*", FORBIDDEN, "another was started"},
	    });

/* No other may be started. Result: "accepted, run". */
STRESS_INIT(init_alone)
{
	init_with(state, 1, 1);
}

STRESS_TEST(pool_job, .claim = "A job that was accepted is run.", .upholds = "Pool!JobsEnd",
	    .state_size = sizeof(struct state), .init = init_alone, .actors = {takes_one, executes},
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "it was run"},
		    {"asleep", FORBIDDEN, "the thread rests, and the job waits"},
		    {"*,*", FORBIDDEN, "it was refused"},
	    });

/* Both jobs are queued before the thread looks. Result: "accepted, runs of the first, of the
 * second, when one was taken". */
STRESS_INIT(init_queued)
{
	init_with(state, 1, 1);
}

STRESS_ACTOR(executes_both)
{
	result->r[0] = execute(state, 0);
	result->r[0] += execute(state, 1);
}

STRESS_ACTOR(takes_in_order)
{
	run_one(state, 0);
	result->r[1] = state->runs[0];
	result->r[2] = state->runs[1];
}

STRESS_TEST(pool_order, .claim = "Jobs are taken in the order in which they came.",
	    .upholds = "Pool!JobsInOrder", .state_size = sizeof(struct state), .init = init_queued,
	    .actors = {takes_in_order, executes_both}, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"2,1,0", REQUIRED, "the first job is run first"},
		    {"asleep", FORBIDDEN, "the thread rests, and a job waits"},
		    {"*,*,*", FORBIDDEN, "the second overtakes the first"},
	    });

/* Two threads, two jobs. Result: "accepted, run". */
STRESS_INIT(init_two)
{
	init_with(state, 2, 2);
}

STRESS_ACTOR(other_takes_one)
{
	result->r[1] = run_one(state, 1);
}

STRESS_ACTOR(executes_two)
{
	result->r[0] = execute(state, 0);
	result->r[0] += execute(state, 1);
}

STRESS_TEST(pool_two, .claim = "No thread rests while a job waits.",
	    .upholds = "Pool!NoStrandedJob", .state_size = sizeof(struct state), .init = init_two,
	    .actors = {takes_one, other_takes_one, executes_two}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"2,2", REQUIRED, "each ran one"},
		    {"asleep", FORBIDDEN, "one rests, and a job waits"},
		    {"*,*", FORBIDDEN, "a job was refused"},
	    });

/* A thread leaves when its time is over, unless a job comes. Result: "accepted, run, starts". */
STRESS_INIT(init_late)
{
	init_with(state, 1, 1);
	state->pool.config.min = 0;
	state->pool.config.idle_ns = 1;
}

STRESS_TEST(pool_late, .claim = "Who leaves leaves no job behind.", .upholds = "Pool!NoStrandedJob",
	    .state_size = sizeof(struct state), .init = init_late, .actors = {takes_one, executes},
	    .arbiter = read_starts, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "it has run it"},
		    {"1,0,1", ACCEPTABLE, "it has left, and another was started"},
		    {"*,*,*", LOST_WORK, "the job waits, and nobody will look"},
	    });

/* A thread that is to stay. Result: "accepted, run, threads". */
STRESS_INIT(init_min)
{
	init_with(state, 1, 1);
	state->pool.config.idle_ns = 1;
}

STRESS_ACTOR(works_or_leaves)
{
	run_one(state, 0);
}

STRESS_ACTOR(read_run)
{
	result->r[1] = state->runs[0];
	result->r[2] = state->pool.threads;
}

STRESS_TEST(pool_min, .claim = "A thread that the pool is to keep does not leave.",
	    .upholds = "Pool!MinThreadsKept", .state_size = sizeof(struct state), .init = init_min,
	    .actors = {works_or_leaves, executes}, .arbiter = read_run, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,1", REQUIRED, "it has stayed, and run it"},
		    {"asleep", FORBIDDEN, "it rests, and the job waits"},
		    {"*,*,*", FORBIDDEN, "it has left, though no other thread is there"},
	    });

/* A thread that may leave is chosen as its time is over, and takes a second job after that. Result:
 * "accepted, run, threads that are coming". */
STRESS_ACTOR(takes_two)
{
	result->r[1] = run_one(state, 0);
	if (result->r[1] == 1)
		result->r[1] += run_one(state, 0);
}

STRESS_ACTOR(read_coming)
{
	result->r[2] = state->pool.coming;
}

STRESS_TEST(pool_again, .claim = "Who was chosen as it was about to leave is counted once.",
	    .upholds = "Pool!QtpCounterBalance", .state_size = sizeof(struct state),
	    .init = init_late, .actors = {takes_two, executes}, .arbiter = read_coming,
	    .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "it has run it, and left"},
		    {"1,0,0", ACCEPTABLE, "it has left, and another was started"},
		    {"*,*,*", FORBIDDEN, "a thread is counted twice, or never"},
	    });

/* The system refuses one thread. Result: "accepted, _, threads counted". */
STRESS_INIT(init_refusing)
{
	init_with(state, 0, 2);
	state->refusals = 1;
}

STRESS_ACTOR(executes_other)
{
	result->r[0] = execute(state, 1);
}

STRESS_ACTOR(read_threads)
{
	result->r[2] = state->pool.threads;
}

STRESS_TEST(pool_refused, .claim = "A start that was refused is not counted.",
	    .upholds = "Pool!QtpCounterBalance", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {executes, executes_other}, .arbiter = read_threads,
	    .results = 3,
	    .outcomes = {
		    {"1,0,1", REQUIRED, "one was refused, and the other has a thread"},
		    {"*,*,*", FORBIDDEN, "what was refused is counted"},
	    });
