/* SPDX-License-Identifier: Apache-2.0
 * pool_queue.c - see pool_queue.h. */
#include "pool/pool_queue.h"

#include <stdlib.h>

#include "pool/pool.h"

void wp__pool_init(wp_pool *pool, wp_job *jobs, uint64_t room)
{
	pool->jobs = jobs;
	pool->room = room;
	wp_init(&pool->refuses, false);
}

static wp_job *job_at(wp_pool *pool, uint64_t at)
{
	return &pool->jobs[(pool->head + at) & (pool->room - 1)];
}

/* False: no memory. [under the lock] */
static bool grow(wp_pool *pool)
{
	wp_job *jobs = malloc(2 * pool->room * sizeof(*jobs));

	if (jobs == NULL)
		return false;
	for (uint64_t at = 0; at < pool->queued; at++)
		jobs[at] = *job_at(pool, at);
	free(pool->jobs);
	pool->jobs = jobs;
	pool->room *= 2;
	pool->head = 0;
	return true;
}

bool wp__pool_push(wp_pool *pool, const wp_job *job)
{
	if (pool->queued == pool->room && !grow(pool))
		return false;
	*job_at(pool, pool->queued++) = *job;
	return true;
}

/* Twin only: in two steps. */
static bool pop_split(wp_pool *pool, wp_job *job)
{
	bool has_job = pool->queued > 0;

	if (has_job)
		*job = *job_at(pool, 0);
	wp_lock_release(&pool->lock);
	wp_lock_acquire(&pool->lock);
	pool->head += pool->queued > 0;
	pool->queued -= pool->queued > 0;
	return has_job;
}

bool wp__pool_pop(wp_pool *pool, wp_job *job)
{
	if (wp_twin(pool_drain_unchecked))
		return pop_split(pool, job);
	if (pool->queued == 0)
		return false;
	if (wp_twin(pool_takes_last)) {
		*job = *job_at(pool, --pool->queued);
		return true;
	}
	*job = *job_at(pool, 0);
	pool->head++;
	pool->queued--;
	return true;
}
