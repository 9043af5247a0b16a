/* SPDX-License-Identifier: Apache-2.0
 * pool.c - see pool.h. Threads are made in pool_threads.c. */
#include "pool/pool.h"

#include <stdlib.h>

/* The queue of jobs is a ring. It doubles when it is full and never shrinks. All of it is under the
 * lock of the pool. */

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

/* Doubles the ring. Returns false if there is no memory. [under the lock] */
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

static bool push(wp_pool *pool, const wp_job *job)
{
	if (pool->queued == pool->room && !grow(pool))
		return false;
	*job_at(pool, pool->queued++) = *job;
	return true;
}

static bool pop(wp_pool *pool, wp_job *job)
{
	if (pool->queued == 0)
		return false;
	*job = *job_at(pool, 0);
	pool->head++;
	pool->queued--;
	return true;
}

void wp__pool_thread_init(wp_pool_thread *self, wp_pool *pool, const wp_job *first)
{
	self->pool = pool;
	wp_parker_init(&self->parker);
	self->state = first == NULL ? WP_POOL_COMING : WP_POOL_BUSY;
	self->job = first == NULL ? (wp_job){0} : *first;
	wp_init(&self->tag, NULL);
}

/* Removes a thread from the list of resting ones. [under the lock] */
static void unlink_resting(wp_pool *pool, wp_pool_thread *one)
{
	if (one->above == NULL)
		pool->top = one->below;
	else
		one->above->below = one->below;
	if (one->below != NULL)
		one->below->above = one->above;
	pool->resting--;
}

/* Chooses the thread that has rested for the shortest time. The caller must unpark it after it has
 * released the lock. Returns NULL if no thread rests. [under the lock] */
static wp_pool_thread *choose(wp_pool *pool)
{
	wp_pool_thread *one = pool->top;

	if (one == NULL)
		return NULL;
	unlink_resting(pool, one);
	one->state = WP_POOL_COMING;
	pool->coming++;
	return one;
}

/* [under the lock] */
static int enqueue(wp_pool *pool, const wp_job *job, wp_pool_thread **chosen)
{
	if (!push(pool, job))
		return WP_SYSTEM;
	pool->accepted++;
	if (pool->queued > pool->coming)
		*chosen = choose(pool);
	return WP_OK;
}

int wp__pool_start(wp_pool *pool, const wp_job *first)
{
	int code = pool->start(pool, first);

	if (code != WP_OK) {
		pool->refused++;
		return code;
	}
	pool->started++;
	pool->threads++;
	if (first == NULL)
		pool->coming++;
	else
		pool->accepted++;
	return WP_OK;
}

/* Returns true if no thread will be free for one more job, and one may be started. [under the lock]
 */
static bool is_short(const wp_pool *pool)
{
	uint32_t idle = pool->resting + pool->coming;

	return pool->threads < pool->config.max && idle <= pool->queued;
}

int wp_pool_execute(wp_pool *pool, const wp_job *job)
{
	wp_pool_thread *chosen = NULL;
	int code = WP_CLOSED;

	wp_lock_acquire(&pool->lock);
	if (!pool->is_closed) {
		code = is_short(pool) ? wp__pool_start(pool, job) : WP_REFUSED;
		if (code != WP_OK && pool->threads > 0)
			code = enqueue(pool, job, &chosen);
	}
	wp_lock_release(&pool->lock);
	if (chosen != NULL)
		wp_parker_unpark(&chosen->parker);
	return code;
}

/* Returns true if no thread may leave. [under the lock] */
static bool is_needed(const wp_pool *pool)
{
	return pool->threads <= pool->config.min;
}

bool wp__pool_may_leave(wp_pool *pool, int64_t now_ns, int64_t *until_ns)
{
	int64_t next_ns = pool->left_ns + pool->config.idle_ns / pool->config.evictions;

	*until_ns = WP_FOREVER;
	if (is_needed(pool))
		return false;
	if (next_ns <= now_ns) {
		pool->left_ns = now_ns;
		pool->gone_idle++;
		return true;
	}
	*until_ns = next_ns;
	return false;
}

/* [under the lock] */
static int64_t idle_until(wp_pool *pool, int64_t now_ns)
{
	return is_needed(pool) || pool->config.idle_ns == WP_FOREVER
		       ? WP_FOREVER
		       : now_ns + pool->config.idle_ns;
}

/* Sleeps until the thread is chosen (returns true) or the time is over (returns false). [a thread,
 * under the lock, which is released while it sleeps | blocks] */
static bool rest(wp_pool *pool, wp_pool_thread *self, int64_t until_ns)
{
	bool is_over;

	self->state = WP_POOL_RESTING;
	self->above = NULL;
	self->below = pool->top;
	if (pool->top != NULL)
		pool->top->above = self;
	pool->top = self;
	pool->resting++;
	wp_lock_release(&pool->lock);
	is_over = wp_parker_park_until(&self->parker, until_ns) != WP_OK;
	wp_lock_acquire(&pool->lock);
	if (is_over && self->state == WP_POOL_RESTING) {
		unlink_resting(pool, self);
		return false;
	}
	if (is_over) {
		wp_lock_release(&pool->lock);
		wp_parker_park(&self->parker);
		wp_lock_acquire(&pool->lock);
	}
	pool->coming--;
	return true;
}

/* [a thread, under the lock] */
static void leave(wp_pool *pool, wp_pool_thread *self)
{
	if (self->newer == NULL)
		pool->newest = self->older;
	else
		self->newer->older = self->older;
	if (self->older != NULL)
		self->older->newer = self->newer;
	self->gone = pool->gone;
	pool->gone = self;
	pool->threads--;
	wp_cond_signal(&pool->left);
}

/* Updates the counts for what the thread did before: it was coming, or it has finished a job. [a
 * thread, under the lock] */
static void arrive(wp_pool *pool, wp_pool_thread *self)
{
	if (self->state == WP_POOL_COMING)
		pool->coming--;
	else
		pool->finished++;
}

/* [a thread, under the lock] */
static bool take(wp_pool_thread *self, wp_job *job)
{
	return pop(self->pool, job);
}

/* Returns true if the thread may leave. Returns false if it must rest until *until_ns. [a thread,
 * under the lock] */
static bool is_needless(wp_pool_thread *self, bool is_late, int64_t *until_ns)
{
	if (is_late)
		return wp__pool_may_leave(self->pool, wp_clock_ns(), until_ns);
	self->since_ns = wp_clock_ns();
	*until_ns = idle_until(self->pool, self->since_ns);
	return false;
}

bool wp__pool_next(wp_pool_thread *self, wp_job *job)
{
	wp_pool *pool = self->pool;
	bool has_job, is_late = false;
	int64_t until_ns;

	wp_lock_acquire(&pool->lock);
	arrive(pool, self);
	while (!(has_job = take(self, job)) && !pool->is_closed &&
	       !is_needless(self, is_late, &until_ns))
		is_late = !rest(pool, self, until_ns);
	if (has_job)
		self->state = WP_POOL_BUSY;
	else
		leave(pool, self);
	wp_lock_release(&pool->lock);
	return has_job;
}

bool wp__pool_close(wp_pool *pool)
{
	wp_pool_thread *resting, *next;
	bool is_first;

	wp_lock_acquire(&pool->lock);
	is_first = !pool->is_closed;
	pool->is_closed = true;
	resting = pool->top;
	while (choose(pool) != NULL)
		continue;
	wp_lock_release(&pool->lock);
	for (; resting != NULL; resting = next) {
		next = resting->below;
		wp_parker_unpark(&resting->parker);
	}
	return is_first;
}

uint64_t wp_pool_drain(wp_pool *pool)
{
	uint64_t many = 0;
	bool has_job;
	wp_job job;

	do {
		wp_lock_acquire(&pool->lock);
		has_job = pool->is_closed && pop(pool, &job);
		pool->closed += has_job;
		wp_lock_release(&pool->lock);
		if (has_job && job.close != NULL)
			job.close(job.arg);
		many += has_job;
	} while (has_job);
	return many;
}

int wp__pool_wait(wp_pool *pool, int64_t deadline_ns, bool is_inside)
{
	int code = WP_OK;

	wp_lock_acquire(&pool->lock);
	pool->waiting += is_inside;
	if (is_inside)
		wp_cond_signal(&pool->left);
	while (code == WP_OK && pool->threads > pool->waiting)
		code = wp_cond_wait(&pool->left, &pool->lock, deadline_ns);
	if (pool->threads <= pool->waiting)
		code = WP_OK;
	pool->waiting -= is_inside;
	wp_cond_signal(&pool->left); /* wakes the next waiter */
	wp_lock_release(&pool->lock);
	return code;
}
