/* SPDX-License-Identifier: Apache-2.0
 * pool_threads.c - see pool.h. Not explored, because it makes threads. */
#define _GNU_SOURCE
#include "pool/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Thread_local wp_pool_thread *self;

static void enlist(wp_pool_thread *mine)
{
	wp_pool *pool = mine->pool;
	char name[WP_POOL_NAME + 12];

	snprintf(name, sizeof(name), "%s-%u", pool->name, mine->number);
	name[15] = 0; /* the system takes no longer name */
	pthread_setname_np(pthread_self(), name);
	wp_lock_acquire(&pool->lock);
	mine->system = (int32_t)syscall(SYS_gettid);
	wp_lock_release(&pool->lock);
}

void wp__pool_thread_join(wp_pool_thread *gone)
{
	if (gone != NULL)
		pthread_join(gone->thread, NULL);
	free(gone);
}

static void set_tag(wp_pool_thread *mine, const char *tag)
{
	/* [pool_threads.1] relaxed: a value that is stale costs a word in a dump; pairs
	 * pool_dump.1; upholds Pool!QtpCounterBalance. */
	wp_store_relaxed(&mine->tag, tag);
}

static void run_jobs(wp_pool_thread *mine)
{
	wp_job job = mine->job;
	bool has_job = job.run != NULL;

	do
		if (has_job) {
			job.run(job.arg);
			set_tag(mine, NULL);
		}
	while ((has_job = wp__pool_next(mine, &job)));
}

static void *begin(void *arg)
{
	wp_pool_thread *mine = arg;
	const wp_pool_config *config = &mine->pool->config;

	self = mine;
	enlist(mine);
	if (config->begin != NULL)
		config->begin(config->arg);
	run_jobs(mine);
	if (config->end != NULL)
		config->end(config->arg);
	wp__pool_thread_join(mine->gone);
	return NULL;
}

/* Returns 0 or an errno. */
static int create(wp_pool *pool, wp_pool_thread *one)
{
	pthread_attr_t how;
	int code = pthread_attr_init(&how);

	if (code != 0)
		return code;
	if (pool->config.stack_bytes != 0)
		code = pthread_attr_setstacksize(&how, pool->config.stack_bytes);
	if (code == 0)
		code = pthread_create(&one->thread, &how, begin, one);
	pthread_attr_destroy(&how);
	return code;
}

int wp__pool_thread_start(wp_pool *pool, const wp_job *first)
{
	wp_pool_thread *one = calloc(1, sizeof(*one));
	int code;

	if (one == NULL)
		return WP_SYSTEM;
	wp__pool_thread_init(one, pool, first);
	one->number = (uint32_t)pool->started + 1;
	code = create(pool, one);
	if (code != 0) {
		free(one);
		errno = code;
		return WP_SYSTEM;
	}
	one->older = pool->newest;
	if (one->older != NULL)
		one->older->newer = one;
	pool->newest = one;
	return WP_OK;
}

int wp_pool_wait(wp_pool *pool, int64_t deadline_ns)
{
	int code = wp__pool_wait(pool, deadline_ns, wp_pool_current() == pool);
	wp_pool_thread *gone;

	if (code != WP_OK)
		return code;
	wp_lock_acquire(&pool->lock);
	gone = pool->gone;
	pool->gone = NULL;
	wp_lock_release(&pool->lock);
	wp__pool_thread_join(gone);
	return WP_OK;
}

/* Waits, and continues to wait if a signal handler interrupts the wait. */
static int wait_on(wp_pool *pool, int64_t deadline_ns)
{
	int code;

	do
		code = wp_pool_wait(pool, deadline_ns);
	while (code == WP_INTERRUPTED);
	return code;
}

int wp_pool_stop(wp_pool *pool, int64_t deadline_ns)
{
	int64_t now_ns = wp_clock_ns(), half_ns = deadline_ns;

	if (deadline_ns != WP_FOREVER && deadline_ns > now_ns)
		half_ns = now_ns + (deadline_ns - now_ns) / 2;
	wp_pool_close(pool);
	if (wait_on(pool, half_ns) == WP_OK)
		return WP_OK;
	wp_pool_drain(pool);
	return wait_on(pool, deadline_ns);
}

void wp_pool_tag(const char *tag)
{
	if (self != NULL)
		set_tag(self, tag);
}

wp_pool *wp_pool_current(void)
{
	return self == NULL ? NULL : self->pool;
}
