/* SPDX-License-Identifier: Apache-2.0
 * wait_queue_leave.c CASE - a group is closed while its threads stand in queues that outlive it,
 * and is freed while they are still being woken, or run. Prints what is lost. */
#include <time.h>

#include "../vthreads_case.h"
#include "../case_main.h"
#include "sync/channel.h"
#include "sync/condition.h"
#include "thread/latch.h"
#include "scope/scope.h"
#include "sync/semaphore.h"

static wp_mutex mutex;
static wp_semaphore semaphore;
static wp_channel channel;
static wp_condition condition;
static wp_latch latch;
static wp_vthread *threads[8];
static int started, back;

static void open_one(void)
{
	open_group(1, false, 0);
	started = back = 0;
}

/* Returns when it is parked. It waits for its object at once. */
static wp_vthread *start_waiting(int (*run)(void *), void *arg)
{
	wp_vthread *thread = start(run, arg);

	await_parked(thread);
	threads[started++] = thread;
	return thread;
}

static void count_back(void *arg, wp_task *task, bool was_parked)
{
	back += task->is_virtual != 0;
}

/* Hands all started threads back, and frees the group. */
static void end_group(void)
{
	check(wp_group_close(group, 0, true, count_back, NULL) == WP_OK, "a close");
	check(back == started, "a thread that is handed back");
	for (int at = 0; at < started; at++)
		wp_vthread_free(threads[at]);
	wp_group_free(group);
}

static int never(const char *what)
{
	check(false, what);
	return 0;
}

static int locks(void *arg)
{
	wp_mutex_lock_until(&mutex, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

static void *locks_outside(void *arg)
{
	check(wp_mutex_lock_until(&mutex, patience()) == WP_OK, "a mutex: who is behind");
	check(wp_mutex_unlock(&mutex) == WP_OK, "an unlock");
	return NULL;
}

/* An OS thread behind two of the group. */
CASE(mutex)
{
	pthread_t outside;

	wp_mutex_lock(&mutex);
	open_one();
	start_waiting(locks, NULL);
	start_waiting(locks, NULL);
	pthread_create(&outside, NULL, locks_outside, NULL);
	AWAIT(mutex_has_waiters(&mutex, 3), "who locks");
	end_group();
	check(wp_mutex_unlock(&mutex) == WP_OK, "an unlock");
	pthread_join(outside, NULL);
	check(wp_load_relaxed(&mutex.word) == 0, "a free mutex");
}

/* No thread is left behind them: the mutex can be locked any number of times. */
CASE(passes)
{
	wp_mutex_lock(&mutex);
	open_one();
	start_waiting(locks, NULL);
	end_group();
	wp_mutex_unlock(&mutex);
	for (int time = 0; time < 4 * WP_MUTEX_BYPASSES; time++) {
		check(wp_mutex_try_lock(&mutex), "a mutex that nobody has");
		wp_mutex_unlock(&mutex);
	}
}

static int acquires(void *arg)
{
	wp_semaphore_acquire_until(&semaphore, (uint32_t)(uintptr_t)arg, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

CASE(semaphore)
{
	wp_semaphore_init(&semaphore, 1);
	open_one();
	start_waiting(acquires, (void *)2); /* no other thread passes it */
	start_waiting(acquires, (void *)1);
	end_group();
	check(wp_semaphore_permits(&semaphore) == 1, "a permit");
	wp_semaphore_release(&semaphore, 1);
	check(wp_semaphore_permits(&semaphore) == 2, "a permit that is released after a close");
}

static int receives(void *arg)
{
	void *item;

	wp_channel_receive_until(&channel, &item, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

static int sends(void *arg)
{
	wp_channel_send_until(&channel, arg, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

/* A rendezvous finds none of the threads that were handed back. */
CASE(channel)
{
	void *item = NULL;

	wp_channel_init(&channel, NULL, 0);
	open_one();
	start_waiting(receives, NULL);
	end_group();
	check(wp_channel_try_send(&channel, &item) == WP_TIMEOUT, "a receiver that lives");
	open_one();
	start_waiting(sends, &item);
	end_group();
	check(wp_channel_try_receive(&channel, &item) == WP_TIMEOUT, "a sender that lives");
}

static wp_atomic(uint32_t) holds;

/* Runs until its carrier is stopped. The tasks behind it stay queued. */
static enum wp_step hold(wp_task *task)
{
	wp_store_relaxed(&holds, 1);
	while (!wp_mpsc_has_published(&task->home->carrier.inbox))
		wp_yield();
	return WP_STEP_DONE;
}

static enum wp_step end(wp_task *task)
{
	return WP_STEP_DONE;
}

/* Between here and the close, threads are given things that they do not come to take. The second
 * task is for the one turn that the queue may have before the stop is read. */
static void keep_carrier(void)
{
	static wp_task first, second;

	wp_store_relaxed(&holds, 0);
	wp_task_init(&first, hold, "first");
	wp_task_init(&second, end, "second");
	check(wp_group_start(group, 0, &first) == WP_OK, "a task");
	check(wp_group_start(group, 0, &second) == WP_OK, "a task");
	while (wp_load_relaxed(&holds) == 0)
		wp_yield();
}

/* Given, and not received: the items come back, in order, before items that were sent later. */
CASE(items)
{
	static int items[6];
	void *slots[2], *item;

	wp_channel_init(&channel, slots, 2);
	open_one();
	for (int at = 0; at < 4; at++)
		start_waiting(receives, NULL);
	keep_carrier();
	for (int at = 0; at < 6; at++)
		check(wp_channel_try_send(&channel, &items[at]) == WP_OK, "a receiver, or a slot");
	end_group();
	check(wp_channel_count(&channel) == 6, "a count");
	for (int at = 0; at < 6; at++)
		check(wp_channel_try_receive(&channel, &item) == WP_OK && item == &items[at],
		      "an item that was given to a thread that was handed back");
	check(wp_channel_try_receive(&channel, &item) == WP_TIMEOUT, "an empty channel");
	open_one();
	start_waiting(receives, NULL);
	keep_carrier();
	check(wp_channel_try_send(&channel, &items[0]) == WP_OK, "a receiver");
	end_group();
	wp_channel_fini(&channel);
}

/* Handed over, and not taken: the next thread gets them. */
CASE(granted)
{
	wp_mutex_lock(&mutex);
	wp_semaphore_init(&semaphore, 0);
	open_one();
	start_waiting(locks, NULL);
	start_waiting(acquires, (void *)3);
	keep_carrier();
	check(wp_semaphore_release(&semaphore, 3) == WP_OK, "a release");
	check(wp_semaphore_permits(&semaphore) == 0, "a grant");
	for (int pass = 0; pass <= WP_MUTEX_BYPASSES; pass++) {
		wp_mutex_unlock(&mutex);
		if (!wp_mutex_try_lock(&mutex))
			break;
	}
	check(mutex.line.first == NULL, "a hand-over");
	end_group();
	check(wp_semaphore_permits(&semaphore) == 3, "permits");
	check(wp_mutex_try_lock(&mutex), "a mutex");
	check(!wp_mutex_was_abandoned(&mutex), "that nobody has run with it");
}

static int waits(void *arg)
{
	wp_mutex_lock(&mutex);
	wp_condition_wait_until(&condition, &mutex, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

static void *waits_outside(void *arg)
{
	wp_mutex_lock(&mutex);
	check(wp_condition_wait_until(&condition, &mutex, patience()) == WP_OK,
	      "a signal: who is behind");
	wp_mutex_unlock(&mutex);
	return NULL;
}

/* In the queue; then signalled, and in the queue of the mutex or holding it: the signal goes to the
 * next. */
static void condition_case(bool is_signalled)
{
	pthread_t outside;

	wp_condition_init(&condition);
	open_one();
	start_waiting(waits, NULL);
	pthread_create(&outside, NULL, waits_outside, NULL);
	await_line(&condition.lock, &condition.line, 2, "who waits");
	if (is_signalled) {
		keep_carrier();
		wp_condition_signal(&condition);
	}
	end_group();
	if (!is_signalled)
		wp_condition_signal(&condition);
	pthread_join(outside, NULL);
	check(wp_mutex_try_lock(&mutex), "the mutex of a condition");
}

/* A broadcast is for the threads that waited when it came. One that it has woken takes nothing with
 * it. */
CASE(broadcast)
{
	wp_waiter later;

	wp_condition_init(&condition);
	open_one();
	start_waiting(waits, NULL);
	keep_carrier();
	wp_mutex_lock(&mutex);
	wp_condition_broadcast(&condition);
	wp__waiter_init_self(&later, WP_WAIT_CONDITION);
	wp__condition_begin(&condition, &mutex, &later);
	end_group();
	check(wp__condition_cancel(&condition, &later), "that nobody has signalled who came later");
	check(wp_mutex_try_lock(&mutex), "the mutex of a condition");
	wp_mutex_unlock(&mutex);
}

CASE_CALL(condition, condition_case(false))
CASE_CALL(signal, condition_case(true))

static int has(void *arg)
{
	wp_mutex_lock(&mutex);
	while (arg == NULL && wp_vthread_park_until(WP_FOREVER) != WP_OK)
		continue;
	return 0;
}

/* Handed back with a mutex; then ended with one. Reported once, to a lock call that returns a
 * code. */
CASE(held)
{
	wp_mutex inside;

	wp_mutex_init(&inside);
	open_one();
	start_waiting(has, NULL);
	end_group();
	check(wp_mutex_lock_until(&mutex, patience()) == WP_ABANDONED,
	      "the mutex of one that was handed back");
	check(wp_mutex_unlock(&mutex) == WP_OK, "an unlock");
	check(wp_mutex_lock(&mutex) == WP_OK, "that it is said once");
	wp_mutex_unlock(&mutex);
	open_one();
	check(join(start(has, &inside), "who has one") == 0, "an end");
	check(wp_mutex_try_lock(&mutex) && wp_mutex_was_abandoned(&mutex),
	      "the mutex of one that ended");
	check(!wp_mutex_was_abandoned(&mutex), "that it is said once");
	wp_mutex_unlock(&mutex);
	end_group();
}

static int waits_open(void *arg)
{
	wp_latch_wait_until(&latch, WP_FOREVER);
	return never("a thread that was handed back: it runs");
}

CASE(latch)
{
	open_one();
	start_waiting(waits_open, NULL);
	start_waiting(waits_open, NULL);
	end_group();
	wp_latch_open(&latch);
	check(wp_latch_is_open(&latch), "a latch");
}

static int joins(void *arg)
{
	int failure;

	wp_vthread_join(arg, WP_FOREVER, &failure);
	return never("a thread that was handed back: it runs");
}

static int parks(void *arg)
{
	while (wp_vthread_park_until(WP_FOREVER) != WP_OK)
		continue;
	return 3;
}

/* Joins a thread of another group, which ends later. */
CASE(join)
{
	wp_vthread *joined;
	wp_group *others;
	int failure = 0;

	open_one();
	joined = start_waiting(parks, NULL);
	others = group;
	open_one();
	start_waiting(joins, joined);
	end_group();
	wp_vthread_unpark(joined);
	check(wp_vthread_join(joined, patience(), &failure) == WP_OK && failure == 3, "a join");
	wp_vthread_free(joined);
	check(wp_group_close(others, WP_FOREVER, false, NULL, NULL) == WP_OK, "a close");
	wp_group_free(others);
}

static wp_group *forks_in;

static int opens(void *arg)
{
	wp_scope_config config = {.policy = WP_SCOPE_ALL, .deadline_ns = WP_FOREVER};
	static wp_scope scope;
	static wp_subtask subtask;

	check(wp_scope_open(&scope, forks_in, &config) == WP_OK, "a scope");
	check(wp_scope_fork(&scope, &subtask, parks, NULL) == WP_OK, "a fork");
	wp_scope_join(&scope, NULL);
	return never("a thread that was handed back: it runs");
}

/* The owner waits for a subtask in another group, which is handed back later. */
CASE(scope)
{
	wp_group_config config = {.carriers = 1, .yield_us = 50};

	check(wp_group_new(&forks_in, &config) == WP_OK, "a group");
	open_one();
	start_waiting(opens, NULL);
	end_group();
	check(wp_group_close(forks_in, 0, true, NULL, NULL) == WP_OK, "a close");
	wp_group_free(forks_in);
}

/* One thread has a mutex on its stack, and another one of the group waits for it. */
static wp_mutex *inner;

static int has_mutex(void *arg)
{
	wp_mutex own;

	wp_mutex_init(&own);
	wp_mutex_lock(&own);
	inner = &own;
	while (wp_vthread_park_until(WP_FOREVER) != WP_OK)
		continue;
	return never("a thread that was handed back: it runs");
}

static int locks_inner(void *arg)
{
	wp_mutex_lock(inner);
	return never("a thread that was handed back: it runs");
}

static void free_left(wp_vthread *thread)
{
	wp_vthread_free(thread);
}

CASE(stack)
{
	open_one();
	await_parked(start_as(&(wp_vthread_config){.run = has_mutex, .left = free_left}));
	start_waiting(locks_inner, NULL);
	start_waiting(locks_inner, NULL);
	check(wp_group_close(group, 0, true, count_back, NULL) == WP_OK && back == 3, "a close");
	for (int at = 0; at < started; at++)
		wp_vthread_free(threads[at]);
	wp_group_free(group);
}

/* An OS thread of a scheduler is still in `left` when the group is freed. */
static wp_atomic(uint32_t) is_leaving, has_left;

/* As long as a free may take that does not wait. */
static void leave_slowly(wp_vthread *thread)
{
	wp_store_release(&is_leaving, 1);
	for (int turn = 0; turn < 2000; turn++)
		wp_yield();
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	wp_store_release(&has_left, 1);
}

static void *runs(void *arg)
{
	check(wp_vthread_run(given) == WP_OK, "a run");
	return NULL;
}

CASE(left)
{
	wp_vthread_config config = {.run = nothing, .scheduler = &keeping, .left = leave_slowly};
	wp_vthread *thread;
	pthread_t runner;
	int failure;

	open_one();
	thread = start_as(&config);
	pthread_create(&runner, NULL, runs, NULL);
	check(wp_vthread_join(thread, WP_FOREVER, &failure) == WP_OK, "a join");
	while (wp_load_acquire(&is_leaving) == 0)
		wp_yield();
	wp_vthread_free(thread);
	check(wp_group_close(group, WP_FOREVER, false, NULL, NULL) == WP_OK, "a close");
	wp_group_free(group);
	check(wp_load_acquire(&has_left) == 1, "a runner that is inside");
	pthread_join(runner, NULL);
}
