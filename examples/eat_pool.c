/* SPDX-License-Identifier: Apache-2.0
 * eat_pool.c - see eat.h. */
#include <stdlib.h>
#include <string.h>

#include "eat.h"
#include "error.h"

enum { NS_PER_S = 1000000000 };

static void *work(void *arg)
{
	eat_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	pool->bind(pool->arg, pool->bound++);
	for (;;) {
		eat_job *job;

		pool->idle++;
		while (pool->first == NULL && !pool->is_closing)
			pthread_cond_wait(&pool->work, &pool->lock);
		pool->idle--;
		job = pool->first;
		if (job == NULL)
			break;
		pool->first = job->next;
		if (pool->first == NULL)
			pool->last = &pool->first;
		pool->queued--;
		pthread_mutex_unlock(&pool->lock);
		job->run(job->arg);
		free(job);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Under the lock. */
static void start_thread(eat_pool *pool)
{
	if (pool->started < pool->most &&
	    pthread_create(&pool->threads[pool->started], NULL, work, pool) == 0)
		pool->started++;
}

int eat_pool_execute(eat_pool *pool, void (*run)(void *arg), void *arg)
{
	eat_job *job = malloc(sizeof(*job));
	bool is_refused;

	if (job == NULL)
		return WP_SYSTEM;
	*job = (eat_job){.run = run, .arg = arg};
	pthread_mutex_lock(&pool->lock);
	if (pool->idle <= pool->queued && !pool->is_closing)
		start_thread(pool);
	is_refused = pool->is_closing || pool->started == 0;
	if (!is_refused) {
		*pool->last = job;
		pool->last = &job->next;
		pool->queued++;
		pthread_cond_signal(&pool->work);
	}
	pthread_mutex_unlock(&pool->lock);
	if (is_refused)
		free(job);
	return is_refused ? WP_CLOSED : WP_OK;
}

static void run_reserved(void *pool)
{
	wp_reserve_run(&((eat_pool *)pool)->reserve);
}

static int start_reserved(void *pool)
{
	return eat_pool_execute(pool, run_reserved, pool);
}

static void run_job(void *arg, void *task)
{
	eat_job *job = task;

	(void)arg;
	job->run(job->arg);
}

bool eat_pool_try(eat_pool *pool, eat_job *job)
{
	return wp_reserve_try(&pool->reserve, job);
}

bool eat_pool_open(eat_pool *pool, uint32_t most, uint32_t reserved,
		   void (*bind)(void *arg, uint32_t index), void *arg)
{
	wp_reserve_config config = {.capacity = reserved, .idle_ns = NS_PER_S,
				    .start = start_reserved, .run = run_job, .arg = pool};

	memset(pool, 0, sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pool->last = &pool->first;
	pool->most = most;
	pool->bind = bind;
	pool->arg = arg;
	pool->threads = calloc(most, sizeof(*pool->threads));
	pool->slots = aligned_alloc(WP_LINE, (reserved + 1) * sizeof(*pool->slots));
	if (pool->threads == NULL || pool->slots == NULL)
		return false;
	wp_reserve_init(&pool->reserve, &config, pool->slots);
	return true;
}

void eat_pool_close(eat_pool *pool)
{
	wp_reserve_stop(&pool->reserve);
	pthread_mutex_lock(&pool->lock);
	pool->is_closing = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t at = 0; at < pool->started; at++)
		pthread_join(pool->threads[at], NULL);
	free(pool->threads);
	free(pool->slots);
}
