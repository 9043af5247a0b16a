/* SPDX-License-Identifier: Apache-2.0
 * pool.c - a job gets a thread: one that is idle, leaving, just started, or still to be started.
 *
 *   thread                      submitter
 *   takes one job, or leaves    execute
 *
 * Result        "accepted, run, starts".
 * Why it works  As in pools.h.
 * Spec          specs/pool/Pool.tla. */
#include "pools.h"

/* One thread was just started, and one more may be started. Result: "accepted, run, starts". */
STRESS_INIT(init_begun)
{
	init_with(state, 1, 2);
}

STRESS_ACTOR_CALL(takes_one, result->r[1] = run_one(state, 0))
STRESS_ACTOR_CALL(read_starts, result->r[2] = state->starts)

STRESS_TEST(
	pool_begun, .claim = "A thread that has just begun gets the job.",
	.upholds = "Pool!NoSpuriousThread", .state_size = sizeof(struct state), .init = init_begun,
	.actors = {takes_one, executes}, .arbiter = read_starts, .results = 3, .blocking = 1,
	.outcomes = {
		{"1,1,0", REQUIRED, "the thread has run the job"},
		{"asleep", FORBIDDEN,
		 "the thread idles while the job waits, or another thread was started for the job"},
		{"*,*,*", FORBIDDEN, "another thread was started needlessly"},
	});

/* No other thread may be started. Result: "accepted, run". */
STRESS_INIT(init_alone)
{
	init_with(state, 1, 1);
}

STRESS_TEST(pool_job, .claim = "Every job that was accepted is run.", .upholds = "Pool!JobsEnd",
	    .state_size = sizeof(struct state), .init = init_alone, .actors = {takes_one, executes},
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "the job was run"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread idles, and the job waits"},
		    {"*,*", FORBIDDEN, "the job was refused"},
	    });

/* Both jobs are queued before the thread looks. Result: "accepted, runs of the first, runs of the
 * second when the first was taken". */
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

STRESS_TEST(pool_order, .claim = "Jobs are taken in the order in which they were submitted.",
	    .upholds = "Pool!JobsInOrder", .state_size = sizeof(struct state), .init = init_queued,
	    .actors = {takes_in_order, executes_both}, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"2,1,0", REQUIRED, "the first job is run first"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread idles, and a job waits"},
		    {"*,*,*", FORBIDDEN, "the second job overtakes the first"},
	    });

/* Two threads, two jobs. Result: "accepted, run". */
STRESS_INIT(init_two)
{
	init_with(state, 2, 2);
}

STRESS_ACTOR_CALL(other_takes_one, result->r[1] = run_one(state, 1))

STRESS_ACTOR(executes_two)
{
	result->r[0] = execute(state, 0);
	result->r[0] += execute(state, 1);
}

STRESS_TEST(pool_two, .claim = "No thread idles while a job waits.",
	    .upholds = "Pool!NoStrandedJob", .state_size = sizeof(struct state), .init = init_two,
	    .actors = {takes_one, other_takes_one, executes_two}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"2,2", REQUIRED, "each thread ran one job"},
		    {"asleep", FORBIDDEN, "lost wakeup: one thread idles, and a job waits"},
		    {"*,*", FORBIDDEN, "a job was refused"},
	    });

/* An idle thread leaves when its time is up, unless a job arrives. Result: "accepted, run,
 * starts". */
STRESS_INIT(init_late)
{
	init_with(state, 1, 1);
	state->pool.config.min = 0;
	state->pool.config.idle_ns = 1;
}

STRESS_TEST(pool_late, .claim = "A thread that leaves the pool leaves no job behind.",
	    .upholds = "Pool!NoStrandedJob", .state_size = sizeof(struct state), .init = init_late,
	    .actors = {takes_one, executes}, .arbiter = read_starts, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "the thread has run the job"},
		    {"1,0,1", ACCEPTABLE, "the thread has left, and another was started"},
		    {"*,*,*", LOST_WORK, "the job waits, and no thread will take it"},
	    });

/* The pool is to keep this thread. Result: "accepted, run, threads". */
STRESS_INIT(init_min)
{
	init_with(state, 1, 1);
	state->pool.config.idle_ns = 1;
}

STRESS_ACTOR_CALL(works_or_leaves, run_one(state, 0))

STRESS_ACTOR(read_run)
{
	result->r[1] = state->runs[0];
	result->r[2] = state->pool.threads;
}

STRESS_TEST(pool_min, .claim = "A thread that the pool is to keep does not leave.",
	    .upholds = "Pool!MinThreadsKept", .state_size = sizeof(struct state), .init = init_min,
	    .actors = {works_or_leaves, executes}, .arbiter = read_run, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,1", REQUIRED, "the thread has stayed, and has run the job"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread idles, and the job waits"},
		    {"*,*,*", FORBIDDEN, "the thread has left, though there is no other"},
	    });

/* A thread that may leave is chosen for a job as its time runs out, and takes a second job after
 * that. Result: "accepted, run, threads that are coming". */
STRESS_ACTOR(takes_two)
{
	result->r[1] = run_one(state, 0);
	if (result->r[1] == 1)
		result->r[1] += run_one(state, 0);
}

STRESS_ACTOR_CALL(read_coming, result->r[2] = state->pool.coming)

STRESS_TEST(pool_again, .claim = "A thread that is chosen while it leaves is counted once.",
	    .upholds = "Pool!QtpCounterBalance", .state_size = sizeof(struct state),
	    .init = init_late, .actors = {takes_two, executes}, .arbiter = read_coming,
	    .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "the thread has run the job, and left"},
		    {"1,0,0", ACCEPTABLE, "the thread has left, and another was started"},
		    {"*,*,*", FORBIDDEN, "a thread is counted twice, or never"},
	    });

/* The system refuses to start one thread. Result: "accepted, _, threads counted". */
STRESS_INIT(init_refusing)
{
	init_with(state, 0, 2);
	state->refusals = 1;
}

STRESS_ACTOR_CALL(executes_other, result->r[0] = execute(state, 1))
STRESS_ACTOR_CALL(read_threads, result->r[2] = state->pool.threads)

STRESS_TEST(pool_refused, .claim = "A thread start that the system refused is not counted.",
	    .upholds = "Pool!QtpCounterBalance", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {executes, executes_other}, .arbiter = read_threads,
	    .results = 3,
	    .outcomes = {
		    {"1,0,1", REQUIRED, "one start was refused, and the other job has a thread"},
		    {"*,*,*", FORBIDDEN, "the refused start is counted"},
	    });
