/* SPDX-License-Identifier: Apache-2.0
 * meanwhile.c CASE - the actions of another thread between two steps of a thread: the case wraps
 * the call that lies between them. Link with -Wl,--wrap= of wp__group_placement_rest,
 * wp__pool_wait, wp__vthread_park_for, wp_futex_wake and wp_placement_suspect. Prints what is
 * lost. */
#include "sync/channel.h"
#include "sync/condition.h"
#include "thread/latch.h"
#include "wakeup/parker.h"
#include "../sched/placement/group_placement_case.h"
#include "../case_main.h"
#include "sched/poller.h"
#include "pool/pool.h"
#include "sync/semaphore.h"

enum { LOOKS = 3, HELD_MS = 20 };

static wp_pool *pool;
static wp_atomic(uint32_t) has_lock;
static bool is_held_up;
static pthread_t holder;

/* Holds the lock for a while; the data that it guards stays as it is. */
static void *holds_lock(void *arg)
{
	int64_t until_ns = in_ms(HELD_MS);
	wp_pool_thread *gone;

	wp_lock_acquire(&pool->lock);
	gone = pool->gone;
	wp_store_release(&has_lock, 1);
	while (pool->gone == gone && wp_clock_ns() < until_ns)
		wp_yield();
	check(pool->gone == gone, "that it is changed under the lock alone");
	wp_lock_release(&pool->lock);
	return arg;
}

int __real_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside);
int __wrap_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside);
int __wrap_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside)
{
	int code = __real_wp__pool_wait(of, deadline_ns, is_inside);

	if (code == WP_OK && is_held_up) {
		pthread_create(&holder, NULL, holds_lock, NULL);
		await(&has_lock, 1);
	}
	return code;
}

/* A pool has ended, and another thread asks for it, too. The last thread is joined once. */
CASE(waited)
{
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = config.max = 1;
	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
	is_held_up = true;
	check(wp_pool_stop(pool, patience()) == WP_OK, "its stop");
	pthread_join(holder, NULL);
	is_held_up = false;
	wp_pool_free(pool);
}

static wp_atomic(uint32_t) looks;

bool __wrap_wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
				 uint64_t step);
bool __wrap_wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
				 uint64_t step)
{
	wp_fetch_add_release(&looks, 1);
	return false;
}

/* The step ends while the monitor looks. No carrier is suspected, and nothing moves. */
CASE(suspected)
{
	wp_vthread_config config = {.run = nothing, .carrier = 0};
	wp_vthread *one, *behind;

	open_placed((wp_group_config){.carriers = 2, .placement = WP_PLACE_HOME, .monitor_ms = 1});
	one = hold(0, false);
	behind = start_as(&config);
	await(&looks, LOOKS);
	check(wp_group_placement_counts(group, 0).suspects == 0, "who ended in time");
	check(wp_group_placement_counts(group, 0).moved == 0, "what is behind it");
	let_go_of(one);
	join(behind, "who is behind");
	close_placed();
}

/* A waiter was signalled, waits for the mutex, and is interrupted. It gets the mutex, and is still
 * interrupted. */
static wp_mutex mutex;
static wp_condition condition;

static int waits(void *arg)
{
	int code;

	wp_mutex_lock(&mutex);
	code = wp_condition_wait_until(&condition, &mutex, patience());
	wp_mutex_unlock(&mutex);
	check(code == WP_OK, "a signal");
	return arg == NULL && wp_vthread_is_interrupted(wp_vthread_current());
}

CASE(interrupted)
{
	int64_t until_ns = patience();
	wp_vthread *waiter;

	open_group(1, false, 0);
	waiter = start(waits, NULL);
	await_line(&condition.lock, &condition.line, 1, "a waiter");
	wp_mutex_lock(&mutex);
	wp_condition_signal(&condition);
	wp_vthread_interrupt(waiter);
	while (wp_vthread_is_interrupted(waiter) && wp_clock_ns() < until_ns)
		wp_yield(); /* until it has seen that, and waits on */
	wp_mutex_unlock(&mutex);
	check(join(waiter, "who waits") == 1, "an interrupt");
	close_group();
}

/* A task moves while a poller is about to sleep; its carrier has not parked. */
static wp_atomic(uint32_t) has_looked;
static bool moves_now;

bool __real_wp__group_placement_rest(wp_worker *mine);
bool __wrap_wp__group_placement_rest(wp_worker *mine);
bool __wrap_wp__group_placement_rest(wp_worker *mine)
{
	if (!moves_now)
		return __real_wp__group_placement_rest(mine);
	moves_now = false;
	wp_store_release(&has_looked, 1);
	return false;
}

static int polls(void *arg)
{
	while (wp_poller_maybe_yield(false) != WP_CLOSED) {
		moves_now = wp_load_relaxed(&has_looked) == 0;
		if (moves_now) {
			check(wp_poller_try_park() == WP_HAS_WORK, "that it may not park now");
			check(!wp_poller_can_park(), "that its carrier is not parked");
		}
		moves_now = false;
		wp_yield();
	}
	check(wp_poller_try_park() == WP_CLOSED, "that its group is closed");
	return arg != NULL;
}

static void wakes(void *arg)
{
}

CASE(moved)
{
	wp_poller_config config = {.name = "poller", .run = polls, .wakeup = wakes};
	wp_vthread *poller;

	open_group(1, false, 0);
	check(wp_poller_register(group, 0, &config, &poller) == WP_OK, "a poller");
	await(&has_looked, 1);
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	check(join(poller, "the poller") == 0, "its end");
	wp_group_free(group);
}

/* A scheduler may use the channel while it resumes a thread, because the lock is free by then. */
static wp_channel channel;
static wp_vthread *goes_on;
static uint32_t told;

static void is_told(void *arg, wp_vthread *thread)
{
	check(wp_load_relaxed(&channel.lock.state) == 0, "that the channel is free");
	goes_on = thread;
	told++;
}

static int sends(void *arg)
{
	return wp_channel_send_until(&channel, arg, WP_FOREVER);
}

static int receives(void *arg)
{
	return wp_channel_receive_until(&channel, arg, WP_FOREVER);
}

CASE(told)
{
	static const wp_scheduler scheduler = {.submit = is_told};
	static int (*const waits_there[])(void *) = {sends, receives};

	open_group(1, false, 0);
	for (int side = 0; side < 2; side++) {
		void *item = NULL;
		wp_vthread_config config = {
			.run = waits_there[side], .arg = &item, .scheduler = &scheduler};
		wp_vthread *one;

		wp_channel_init(&channel, NULL, 0);
		told = 0;
		one = start_as(&config);
		check(told == 1 && wp_vthread_run(goes_on) == WP_OK, "a run");
		wp_channel_close(&channel);
		check(told == 2 && wp_vthread_run(goes_on) == WP_OK, "a run after the close");
		check(join(one, "who waited") == WP_CLOSED, "that it is closed");
		wp_channel_fini(&channel);
	}
	close_group();
}

/* No thread sleeps there, so a permit takes no system call. */
static _Thread_local uint32_t calls;

int __real_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of);
int __wrap_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of);
int __wrap_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of)
{
	calls++;
	return __real_wp_futex_wake(word, count_of);
}

/* The first waiter was woken, and has not come yet. An unlock in between need not wake it again. */
static void told_once(void)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_MUTEX);
	wp_mutex_lock(&mutex);
	check(!wp__mutex_begin(&mutex, &waiter), "that it is locked");
	calls = 0;
	for (int turn = 0; turn < 2; turn++) {
		check(wp_mutex_unlock(&mutex) == WP_OK, "an unlock");
		check(calls == 1, "that it is told once");
		check(wp_mutex_try_lock(&mutex), "one that comes in between");
	}
	check(wp_mutex_unlock(&mutex) == WP_OK, "an unlock");
	check(wp__mutex_check(&mutex, &waiter), "the first in line");
	check(wp_mutex_unlock(&mutex) == WP_OK, "its unlock");
}

CASE(quiet)
{
	wp_parker parker;

	wp_parker_init(&parker);
	for (int turn = 0; turn < 2; turn++)
		check(wp_parker_unpark(&parker) == (turn == 0), "a permit");
	check(calls == 0, "that nobody is woken");
	check(wp_parker_park_until(&parker, 0) == WP_OK, "the permit");
	check(wp_parker_park_until(&parker, 0) == WP_TIMEOUT, "that it was one");
	wp_parker_close(&parker);
	check(calls == 0, "that nobody is woken");
	check(wp_parker_park_until(&parker, WP_FOREVER) == WP_CLOSED, "its close");
	told_once();
}

/* A permit is granted to a thread after its park was refused, because it was too late. Its next
 * park is its own. */
static wp_semaphore semaphore;
static wp_latch latch;
static bool grants_now;

int __real_wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
int __wrap_wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
int __wrap_wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	int code = __real_wp__vthread_park_for(deadline_ns, why, on);

	if (grants_now && why == WP_WAIT_SEMAPHORE) {
		grants_now = false;
		check(code == WP_TIMEOUT, "that it is too late");
		check(wp_semaphore_release(&semaphore, 1) == WP_OK, "a permit");
	}
	return code;
}

static int is_late(void *arg)
{
	wp_semaphore_init(&semaphore, 0);
	grants_now = true;
	check(wp_semaphore_acquire_until(&semaphore, 1, 1) == WP_OK, "a permit that has come");
	check(!grants_now && wp_vthread_current()->waits == NULL, "that it stands in no line");
	check(wp_vthread_park_until(in_ms(1)) == WP_TIMEOUT, "a park of its own");
	return arg != NULL;
}

CASE(late)
{
	open_group(1, false, 0);
	join(start(is_late, NULL), "who is late");
	close_group();
}

/* A thread that was handed a mutex holds it, and stands in no queue, when it runs. */
static wp_atomic(uint32_t) keeps_on;

static int is_handed(void *arg)
{
	wp_mutex_lock(&mutex);
	check(wp_vthread_current()->waits == NULL, "that it stands in no line");
	wp_mutex_unlock(&mutex);
	return arg != NULL;
}

static int keeps(void *arg)
{
	wp_store_release(&ready, 1);
	await(&keeps_on, 1);
	return arg != NULL;
}

CASE(handed)
{
	wp_vthread *waiter, *keeper;
	int passes = 0;

	open_group(1, false, 0);
	wp_mutex_lock(&mutex);
	waiter = start(is_handed, NULL);
	await_parked(waiter);
	keeper = start(keeps, NULL);
	await(&ready, 1);
	do
		check(wp_mutex_unlock(&mutex) == WP_OK && ++passes <= WP_MUTEX_BYPASSES + 1,
		      "a pass");
	while (wp_mutex_try_lock(&mutex));
	wp_store_release(&keeps_on, 1);
	join(waiter, "who was handed the mutex");
	join(keeper, "the keeper");
	close_group();
}

/* After its wait a thread stands in no queue from which a close would take it. */
static int gives_up(void *arg)
{
	void *item = NULL;

	wp_semaphore_init(&semaphore, 0);
	wp_channel_init(&channel, NULL, 0);
	wp_latch_init(&latch);
	check(wp_semaphore_acquire_until(&semaphore, 1, in_ms(1)) == WP_TIMEOUT &&
		      wp_vthread_current()->waits == NULL,
	      "no permit, and no line");
	check(wp_channel_send_until(&channel, &item, in_ms(1)) == WP_TIMEOUT &&
		      wp_vthread_current()->waits == NULL,
	      "no receiver, and no line");
	check(wp_channel_receive_until(&channel, &item, in_ms(1)) == WP_TIMEOUT &&
		      wp_vthread_current()->waits == NULL,
	      "no item, and no line");
	check(wp_latch_wait_until(&latch, in_ms(1)) == WP_TIMEOUT &&
		      wp_vthread_current()->waits == NULL,
	      "no latch, and no line");
	wp_mutex_lock(&mutex);
	check(wp_condition_wait_until(&condition, &mutex, in_ms(1)) == WP_TIMEOUT &&
		      wp_vthread_current()->waits == NULL,
	      "no signal, and no line");
	wp_mutex_unlock(&mutex);
	wp_channel_fini(&channel);
	return arg != NULL;
}

CASE(over)
{
	open_group(1, false, 0);
	join(start(gives_up, NULL), "who gives up");
	close_group();
}
