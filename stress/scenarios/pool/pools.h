/* SPDX-License-Identifier: Apache-2.0
 * pools.h - a pool whose threads are the actors; threads that the system starts do nothing.
 *
 * Why it works  A job changes plain memory, so a thread that runs it before the hand-over causes a
 *               data race. All threads really sleep.
 * Spec          specs/pool/Pool.tla. */
#ifndef STRESS_POOLS_H
#define STRESS_POOLS_H

#include "pool/pool.h"
#include "stress.h"

struct state {
	wp_pool pool;
	wp_job jobs[4];
	wp_pool_thread threads[2];
	uint32_t runs[2], closes[2]; /* plain, one of each per job */
	uint32_t starts, refusals;   /* guarded by the lock */
};

static inline int start(wp_pool *pool, const wp_job *first)
{
	struct state *state = (struct state *)pool; /* the pool is its first member */

	if (state->refusals > 0) {
		state->refusals--;
		return WP_SYSTEM;
	}
	state->starts++;
	return WP_OK;
}

/* Counts `threads` threads that are about to look for a job. */
static inline void init_with(struct state *state, uint32_t threads, uint32_t max)
{
	wp_pool *pool = &state->pool;

	wp__pool_init(pool, state->jobs, 4);
	pool->config =
		(wp_pool_config){.min = threads, .max = max, .idle_ns = WP_FOREVER, .evictions = 1};
	pool->start = start;
	pool->threads = pool->coming = threads;
	for (uint32_t at = 0; at < threads; at++)
		wp__pool_thread_init(&state->threads[at], pool, NULL);
}

static inline void run(void *arg)
{
	++*(uint32_t *)arg;
}

static inline void close_job(void *arg)
{
	++((uint32_t *)arg)[2]; /* the counters of closes */
}

/* 1: the job was accepted. */
static inline uint32_t execute(struct state *state, uint32_t job)
{
	return wp_pool_execute(&state->pool, &(wp_job){run, close_job, &state->runs[job]}) == WP_OK;
}

static inline void executes(void *at, stress_result *result)
{
	result->r[0] = execute(at, 0);
}

/* 1: the thread has run a job; 0: it has left. */
static inline uint32_t run_one(struct state *state, uint32_t thread)
{
	wp_job job;

	if (!wp__pool_next(&state->threads[thread], &job))
		return 0;
	job.run(job.arg);
	return 1;
}

#endif
