/* SPDX-License-Identifier: Apache-2.0
 * pool_new.c - see pool.h: how a pool is made and ended, and its reserve.
 *
 * Not explored, because it allocates. */
#define _GNU_SOURCE
#include "pool/pool.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 }; /* for jobs, at first */

static const char RESERVED[] = "RESERVED";

/* The job of a reserved thread, which lasts as long as the thread is reserved. */
static void run_reserved(void *arg)
{
	wp_pool *pool = arg;

	wp_pool_tag(RESERVED);
	wp_reserve_run(&pool->reserve);
}

static void drop_reserved(void *arg)
{
	wp_reserve_drop(&((wp_pool *)arg)->reserve);
}

static int start_reserved(void *arg)
{
	return wp_pool_execute(arg, &(wp_job){run_reserved, drop_reserved, arg});
}

static void run_handed(void *arg, void *task)
{
	const wp_job job = *(const wp_job *)task;

	(void)arg;
	wp_pool_tag(NULL);
	job.run(job.arg);
	wp_pool_tag(RESERVED);
}

/* Returns the size of the reserve. For -1, it is the number of threads that are likely to be
 * useful. [before it is shared] */
static uint32_t reserved_of(const wp_pool_config *config)
{
	uint32_t many = 1, enough = config->max / 8;
	cpu_set_t cpus;

	if (config->reserved >= 0)
		return (uint32_t)config->reserved;
	if (config->execute_virtual != NULL || config->max == 1)
		return 0;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && (uint32_t)CPU_COUNT(&cpus) < enough)
		enough = (uint32_t)CPU_COUNT(&cpus);
	while (many < enough)
		many *= 2;
	return many < config->max ? many : config->max - 1;
}

static int make_reserve(wp_pool *pool)
{
	uint32_t capacity = reserved_of(&pool->config);
	wp_reserve_config config = {.capacity = capacity,
				    .least = capacity > 0,
				    .idle_ns = pool->config.idle_ns,
				    .start = start_reserved,
				    .run = run_handed,
				    .arg = pool};

	pool->slots = aligned_alloc(WP_LINE, (capacity + 1) * sizeof(*pool->slots));
	return pool->slots == NULL ? WP_SYSTEM
				   : wp_reserve_init(&pool->reserve, &config, pool->slots);
}

static void free_all(wp_pool *pool)
{
	free(pool->slots);
	free(pool->jobs);
	free(pool);
}

/* Returns NULL if there is no memory. */
static wp_pool *make(const wp_pool_config *config)
{
	wp_pool *pool = aligned_alloc(WP_LINE, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	memset((void *)pool, 0, sizeof(*pool));
	pool->config = *config;
	pool->config.name = pool->name;
	snprintf(pool->name, sizeof(pool->name), "%s",
		 config->name == NULL ? "pool" : config->name);
	pool->start = wp__pool_thread_start;
	wp__pool_init(pool, malloc(ROOM * sizeof(wp_job)), ROOM);
	if (pool->jobs != NULL && make_reserve(pool) == WP_OK)
		return pool;
	free_all(pool);
	return NULL;
}

void wp_pool_config_init(wp_pool_config *config)
{
	*config = (wp_pool_config){.min = 8,
				   .max = 200,
				   .idle_ns = 60000000000,
				   .evictions = 1,
				   .reserved = -1,
				   .low = 1};
}

static wp_pool_config with_defaults(const wp_pool_config *config)
{
	wp_pool_config chosen = *config, usual;

	if (config->max != 0)
		return chosen;
	wp_pool_config_init(&usual);
	chosen.max = usual.max;
	chosen.min = config->min == 0 ? usual.min : config->min;
	chosen.idle_ns = config->idle_ns == 0 ? usual.idle_ns : config->idle_ns;
	chosen.evictions = config->evictions == 0 ? usual.evictions : config->evictions;
	chosen.reserved = config->reserved == 0 ? usual.reserved : config->reserved;
	chosen.low = config->low == 0 ? usual.low : config->low;
	return chosen;
}

int wp_pool_new(const wp_pool_config *config, wp_pool **pool)
{
	wp_pool_config chosen = with_defaults(config);
	wp_pool *made;
	int code = WP_OK;

	if (chosen.min > chosen.max || chosen.evictions == 0 ||
	    (chosen.reserved > 0 && (uint32_t)chosen.reserved >= chosen.max))
		return WP_MISUSED;
	made = make(&chosen);
	if (made == NULL)
		return WP_SYSTEM;
	wp_lock_acquire(&made->lock);
	while (made->threads < chosen.min && code == WP_OK)
		code = wp__pool_start(made, NULL);
	wp_lock_release(&made->lock);
	if (code == WP_OK) {
		*pool = made;
		return WP_OK;
	}
	code = errno;
	wp_pool_stop(made, WP_FOREVER);
	wp_pool_free(made);
	errno = code;
	return WP_SYSTEM;
}

void wp_pool_free(wp_pool *pool)
{
	wp__pool_thread_join(pool->gone);
	free_all(pool);
}

bool wp_pool_has_virtual(const wp_pool *pool)
{
	return pool->config.execute_virtual != NULL;
}

int wp_pool_execute_virtual(wp_pool *pool, const wp_job *job)
{
	return wp_pool_has_virtual(pool) ? pool->config.execute_virtual(pool->config.arg, job)
					 : wp_pool_execute(pool, job);
}

bool wp_pool_try_execute(wp_pool *pool, const wp_job *job)
{
	/* [pool_new.2] relaxed: a value that is stale costs a job that is run during the close;
	 * pairs pool_new.1; upholds Pool!StopDrainsOnce: after a close no job is taken. */
	return !wp_load_relaxed(&pool->refuses) &&
	       wp_reserve_try(&pool->reserve, (void *)(uintptr_t)job);
}

void wp_pool_close(wp_pool *pool)
{
	/* [pool_new.1] relaxed: a value that is stale costs a job that is run during the close;
	 * pairs pool_new.2; upholds Pool!StopDrainsOnce. */
	wp_store_relaxed(&pool->refuses, true);
	if (wp__pool_close(pool))
		wp_reserve_stop(&pool->reserve);
}
