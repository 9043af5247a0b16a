/* SPDX-License-Identifier: Apache-2.0
 * vthreads_case.h - a group of virtual threads, and what must hold for it. */
#include "case.h"
#include "sched/vthread_start.h"
#include "sync/mutex.h"
#include "thread/wait_queue.h"

enum { MANY = 300, SLEEPERS = 1000 };

static wp_group *group;
static __attribute__((unused)) wp_atomic(uint32_t) count, ready;

/* With short turns, unless their length is given. */
static void open_as(wp_group_config config)
{
	if (config.yield_us == 0)
		config.yield_us = 50;
	check(wp_group_new(&group, &config) == WP_OK, "a group");
}

static inline void open_group(uint32_t carriers, bool stealing, uint32_t max_stacks)
{
	open_as((wp_group_config){
		.carriers = carriers, .work_stealing = stealing, .max_stacks = max_stacks});
}

static inline void close_group(void)
{
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(group);
}

/* Not started. */
static wp_vthread *new_as(const wp_vthread_config *config)
{
	wp_vthread *thread = NULL;

	if (wp_vthread_new(group, config, &thread) != WP_OK)
		lost("a thread");
	return thread;
}

static wp_vthread *start_as(const wp_vthread_config *config)
{
	wp_vthread *thread = new_as(config);

	if (wp_vthread_start(thread) != WP_OK)
		lost("the start of a thread");
	return thread;
}

static inline wp_vthread *start(int (*run)(void *), void *arg)
{
	wp_vthread_config config = {
		.name = "one", .run = run, .arg = arg, .carrier = WP_VTHREAD_HERE};

	return start_as(&config);
}

/* A thread that does not end in time is lost, and the program with it, because its stack is in
 * use. */
static int join(wp_vthread *thread, const char *what)
{
	int failure = -1;

	if (wp_vthread_join(thread, patience(), &failure) != WP_OK)
		lost(what);
	wp_vthread_free(thread);
	return failure;
}

static inline void join_all(wp_vthread *const *threads, int many, const char *what)
{
	for (int at = 0; at < many; at++)
		join(threads[at], what);
}

static inline void await(wp_atomic(uint32_t) *word, uint32_t least)
{
	AWAIT(wp_load_acquire(word) >= least, "what is awaited");
}

/* Waits until it is off its carrier, which its record from before the park does not prove. */
static inline void await_parked(wp_vthread *thread)
{
	AWAIT((wp__vthread_look(thread) & (WP_VTHREAD_STATE | WP_VTHREAD_ENDS)) == WP_TASK_PARKED,
	      "who is to be parked");
}

static inline uint32_t length(const wp_wait_queue *line)
{
	uint32_t found = 0;

	for (const wp_waiter *one = line->first; one != NULL; one = one->next)
		found++;
	return found;
}

static inline bool has_waiters(wp_lock *lock, const wp_wait_queue *line, uint32_t many)
{
	bool has;

	wp_lock_acquire(lock);
	has = length(line) == many;
	wp_lock_release(lock);
	return has;
}

static inline bool mutex_has_waiters(wp_mutex *mutex, uint32_t many)
{
	bool has;

	wp_short_lock_acquire(&mutex->lock);
	has = length(&mutex->line) == many;
	wp_short_lock_release(&mutex->lock);
	return has;
}

/* Waits until this many stand in that queue. */
static inline void await_line(wp_lock *lock, const wp_wait_queue *line, uint32_t many,
			      const char *what)
{
	AWAIT(has_waiters(lock, line, many), what);
}

static inline int nothing(void *arg)
{
	return 0;
}

static inline int parked(void *arg)
{
	wp_store_release(&ready, 1);
	return wp_vthread_park_until(in_ms(*(int64_t *)arg));
}

static inline int yields_until_ready(void *arg)
{
	while (wp_load_acquire(&ready) == 0)
		wp_vthread_yield();
	return arg != NULL;
}

/* A scheduler that takes its time, and the thread that it was given. */
static __attribute__((unused)) wp_vthread *given;

static inline void keep(void *arg, wp_vthread *thread)
{
	given = thread;
}

static const wp_scheduler __attribute__((unused)) keeping = {.submit = keep};
