/* SPDX-License-Identifier: Apache-2.0
 * peers.c - the work that peers/ does in Go and with Tokio, done by our carriers and by a plain
 * thread pool: one queue, a mutex, a condition variable, two threads.
 *
 *   peers_near   two tasks resume each other, wherever the scheduler runs them
 *   peers_far    the same, each bound to a thread of its own
 *   peers_tasks  two tasks start half a million tasks each, which end at once
 *   peers_wake   an outside thread resumes 4,096 tasks, and again when all have run
 *   peers_timers one timer is armed and cancelled, among a million that are armed
 *
 * A pool has no parked tasks; to resume a task is to submit it. Its threads hand a turn to and fro
 * by mutex and condition. Our sides are those of pingpong.c, group.c and timer.c. */
#include <pthread.h>

#include "carriers.h"
#include "base/futex.h"

enum { WORKERS = 2, MILLION = 1000000, PARKED = 4096 };

typedef struct pool_job {
	struct pool_job *next;
	void (*run)(struct pool_job *job);
} pool_job;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	pool_job *first, **last;
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &pool.first};

static pool_job jobs[MILLION];
static uint64_t share;
static wp_atomic(uint32_t) left, done;

static void pool_submit(pool_job *job)
{
	pthread_mutex_lock(&pool.lock);
	job->next = NULL;
	*pool.last = job;
	pool.last = &job->next;
	pthread_cond_signal(&pool.filled);
	pthread_mutex_unlock(&pool.lock);
}

static void *pool_work(void *arg)
{
	bench_pin((int)(intptr_t)arg);
	for (;;) {
		pool_job *job;

		pthread_mutex_lock(&pool.lock);
		while ((job = pool.first) == NULL)
			pthread_cond_wait(&pool.filled, &pool.lock);
		pool.first = job->next;
		if (pool.first == NULL)
			pool.last = &pool.first;
		pthread_mutex_unlock(&pool.lock);
		job->run(job);
	}
	return NULL;
}

static void pool_begin(void)
{
	static bool is_made;
	pthread_t thread;

	for (intptr_t k = 0; !is_made && k < WORKERS; k++)
		if (pthread_create(&thread, NULL, pool_work, (void *)k) != 0)
			bench_fail("no thread");
	is_made = true;
	wp_init(&done, 0);
}

static void end_one(pool_job *job)
{
	(void)job;
	if (wp_fetch_add_release(&left, -1u) == 1)
		carriers_count(&done);
}

static void submit_half(pool_job *job)
{
	pool_job *half = job == &jobs[0] ? &jobs[2] : &jobs[2 + share];

	for (uint64_t k = 0; k < share; k++) {
		half[k].run = end_one;
		pool_submit(&half[k]);
	}
}

static double pool_tasks(uint64_t ops)
{
	double start;

	pool_begin();
	share = (ops < MILLION ? ops : MILLION) / 2 - 1;
	wp_init(&left, (uint32_t)(2 * share));
	start = carriers_process_ns();
	for (int k = 0; k < 2; k++) {
		jobs[k].run = submit_half;
		pool_submit(&jobs[k]);
	}
	carriers_await(&done, 1);
	return (carriers_process_ns() - start) * (double)ops / (double)(2 * share);
}

static double pool_wake(uint64_t ops)
{
	uint32_t turns = (uint32_t)((ops + PARKED - 1) / PARKED);
	double start;

	pool_begin();
	start = carriers_process_ns();
	for (uint32_t turn = 0; turn < turns; turn++) {
		wp_init(&left, PARKED);
		for (uint32_t k = 0; k < PARKED; k++) {
			jobs[k].run = end_one;
			pool_submit(&jobs[k]);
		}
		carriers_await(&done, turn + 1);
	}
	return (carriers_process_ns() - start) * (double)ops / ((double)turns * PARKED);
}

typedef struct table {
	pthread_mutex_t lock;
	pthread_cond_t moved[2];
	uint64_t turn, last;
} table;

static void hand_over(void *context, int index)
{
	table *both = context;

	pthread_mutex_lock(&both->lock);
	for (uint64_t turn = (uint64_t)index; turn < both->last; turn += 2) {
		while (both->turn != turn)
			pthread_cond_wait(&both->moved[index], &both->lock);
		both->turn++;
		pthread_cond_signal(&both->moved[1 - index]);
	}
	pthread_mutex_unlock(&both->lock);
}

static double pool_far(uint64_t ops)
{
	table both = {.lock = PTHREAD_MUTEX_INITIALIZER,
		      .moved = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
		      .last = 2 * ops};

	return bench_together(2, hand_over, &both);
}

const bench_row bench_peers[] = {
	{.name = "peers_near", .sides = {{"ours", bench_near}}},
	{.name = "peers_far", .sides = {{"ours", bench_far}, {"pool", pool_far}}},
	{.name = "peers_tasks", .sides = {{"ours", bench_tasks}, {"pool", pool_tasks}}},
	{.name = "peers_wake", .sides = {{"ours", bench_wake}, {"pool", pool_wake}}},
	{.name = "peers_timers", .sides = {{"ours", bench_timers}}},
	{.name = NULL},
};
