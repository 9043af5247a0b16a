/* SPDX-License-Identifier: Apache-2.0
 * twin_work.c MODE SECONDS - threads that wake one another by the kernel, again and again. A kernel
 * with a defect may lose a wakeup, and then all of them sleep. Otherwise the program exits with 0
 * after that time. It waits without limit everywhere: a timeout would hide the loss. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "io/descriptor.h"
#include "sched/group.h"
#include "sched/vthread_start.h"
#include "sync/channel.h"
#include "sync/condition.h"
#include "sync/mutex.h"
#include "sync/semaphore.h"
#include "thread/latch.h"
#include "wakeup/guard.h"
#include "wakeup/parker.h"

enum { CARRIERS = 3, THREADS = 8 };

/* The kernel calls this before each atomic operation: one in 32 is delayed by up to 2 us, one in
 * 1,024 gives up its CPU for at least 50 us, in which others come to rest. */
void wp__stress_delay(void);
void wp__stress_delay(void)
{
	static _Thread_local uint64_t state;

	if (state == 0)
		state = (uint64_t)(size_t)&state | 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	if (state % 32 == 0)
		for (volatile uint64_t spin = (state >> 32) % 2000; spin > 0; spin--)
			continue;
	else if (state % 1024 == 1)
		usleep(50);
}

static wp_group *group;

static void start(pthread_t *thread, void *(*runs)(void *), void *arg)
{
	if (pthread_create(thread, NULL, runs, arg) != 0)
		abort();
}

static void open_group(bool bounded)
{
	wp_group_config config = {.carriers = CARRIERS, .work_stealing = true, .bounded = bounded};

	if (wp_group_new(&group, &config) != WP_OK)
		abort();
}

static wp_vthread *spawn_on(int (*run)(void *), void *arg, int carrier, bool is_pinned)
{
	wp_vthread_config config = {
		.run = run, .arg = arg, .carrier = carrier, .is_pinned = is_pinned};
	wp_vthread *thread;

	if (wp_vthread_new(group, &config, &thread) != WP_OK || wp_vthread_start(thread) != WP_OK)
		abort();
	return thread;
}

static void join(wp_vthread *thread)
{
	int failure;

	if (wp_vthread_join(thread, WP_FOREVER, &failure) != WP_OK)
		abort();
	wp_vthread_free(thread);
}

/* Takes another time in each round, so that two threads meet at all places. */
static void linger(uint64_t round)
{
	for (volatile uint64_t spin = round * 7919 % 2048; spin > 0; spin--)
		continue;
}

/* Two threads hand a turn to each other. */
static wp_parker parkers[2];
static wp_atomic(uint64_t) turn;

static void *parks(void *arg)
{
	uint64_t own = (uint64_t)(size_t)arg;

	for (uint64_t round = 0;; round++) {
		while (wp_load_acquire(&turn) % 2 != own)
			wp_parker_park(&parkers[own]);
		wp_store_release(&turn, wp_load_relaxed(&turn) + 1);
		linger(round);
		wp_parker_unpark(&parkers[1 - own]);
	}
	return NULL;
}

static void parker(void)
{
	pthread_t one;

	wp_parker_init(&parkers[0]);
	wp_parker_init(&parkers[1]);
	start(&one, parks, (void *)1);
	parks((void *)0);
}

/* A close ends a park. */
static void *parks_once(void *arg)
{
	while (wp_parker_park(arg) != WP_CLOSED)
		continue;
	return NULL;
}

static void parker_close(void)
{
	for (;;) {
		pthread_t one;

		wp_parker_init(&parkers[0]);
		start(&one, parks_once, &parkers[0]);
		usleep(100);
		wp_parker_close(&parkers[0]);
		pthread_join(one, NULL);
	}
}

/* Producers signal one poller. */
static wp_rendezvous meeting;
static wp_atomic(uint32_t) work;

static void *takes(void *none)
{
	(void)none;
	for (;;) {
		while (wp_load_relaxed(&work) != 0) {
			wp_exchange_acquire(&work, 0);
			wp_parker_unpark(&parkers[0]);
		}
		wp_guard_announce(&meeting.guard);
		if (wp_load_relaxed(&work) == 0)
			wp_rendezvous_block(&meeting, WP_FOREVER);
		else
			wp_guard_leave(&meeting.guard);
	}
	return NULL;
}

static void guard_of(enum wp_guard_fences fences)
{
	pthread_t one;

	wp_parker_init(&parkers[0]);
	if (wp_rendezvous_init(&meeting, fences) != WP_OK)
		abort();
	start(&one, takes, NULL);
	for (uint64_t round = 0;; round++) {
		wp_store_relaxed(&work, 1);
		wp_rendezvous_signal(&meeting);
		while (wp_load_relaxed(&work) != 0)
			wp_parker_park(&parkers[0]);
		linger(round);
	}
}

static void guard(void)
{
	guard_of(WP_GUARD_SYMMETRIC);
}

static void guard_asymmetric(void)
{
	guard_of(WP_GUARD_ASYMMETRIC);
}

/* Several threads want a lock of the kernel's own. */
static wp_lock lock;

static void *locks(void *none)
{
	(void)none;
	for (;;) {
		wp_lock_acquire(&lock);
		for (volatile int spin = 0; spin < 2000; spin++)
			continue;
		wp_lock_release(&lock);
	}
	return NULL;
}

static void lock_of(void)
{
	pthread_t thread;

	for (int at = 0; at < 3; at++)
		start(&thread, locks, NULL);
	locks(NULL);
}

/* Threads of the system start virtual threads, and wait for each. */
static int does(void *arg)
{
	if (arg != NULL)
		wp_vthread_yield();
	return 0;
}

static void *submits(void *arg)
{
	bool is_pinned = arg != NULL;

	for (uint64_t round = 0;; round++) {
		wp_vthread *threads[THREADS];
		int many = 1 + (int)(round % THREADS);

		for (int at = 0; at < many; at++)
			threads[at] = spawn_on(does, (void *)(round % 2),
					       (int)((round + (uint64_t)at) % CARRIERS), is_pinned);
		if (round % 16 == 15)
			usleep(50);
		for (int at = 0; at < many; at++)
			join(threads[at]);
	}
	return NULL;
}

static void submit(void)
{
	pthread_t thread;

	open_group(false);
	start(&thread, submits, (void *)1);
	submits(NULL);
}

/* One task at a time, so that nothing else wakes a carrier that has missed it. */
static void single(void)
{
	open_group(false);
	for (uint64_t round = 0;; round++) {
		wp_vthread *thread =
			spawn_on(does, NULL, (int)(round / 64 % CARRIERS), round % 2 != 0);

		/* A sleep would take longer than the carrier needs to fall asleep. */
		for (int spin = 0; spin < 100000 && !wp_vthread_is_done(thread); spin++)
			continue;
		join(thread);
		linger(round);
	}
}

/* The same, with carriers that sleep in their pollers. */
static void poll(void)
{
	pthread_t thread;

	open_group(false);
	if (wp_io_start(group, 0) != WP_OK)
		abort();
	start(&thread, submits, (void *)1);
	submits(NULL);
}

static void poll_rest(void)
{
	open_group(false);
	if (wp_io_start(group, 0) != WP_OK)
		abort();
	for (;;)
		pause();
}

static void submit_bounded(void)
{
	pthread_t thread;

	open_group(true);
	start(&thread, submits, (void *)1);
	submits(NULL);
}

/* A virtual thread starts others and waits for them. */
static int forks(void *none)
{
	(void)none;
	for (uint64_t round = 0;; round++) {
		wp_vthread *threads[THREADS];

		for (int at = 0; at < THREADS; at++)
			threads[at] = spawn_on(does, (void *)(round % 2), at % CARRIERS, false);
		for (int at = 0; at < THREADS; at++)
			join(threads[at]);
		if (round % 16 == 15)
			usleep(50);
	}
	return 0;
}

static void internal(void)
{
	open_group(false);
	for (int at = 0; at < 2; at++)
		spawn_on(forks, NULL, at, false);
	for (;;)
		pause();
}

/* Virtual threads hand a turn around by unparks. */
static wp_vthread *ring[THREADS];

static int parks_in_ring(void *arg)
{
	uint64_t own = (uint64_t)(size_t)arg;

	for (uint64_t round = 0;; round++) {
		while (wp_load_acquire(&turn) % THREADS != own)
			wp_vthread_park_until(WP_FOREVER);
		wp_store_release(&turn, wp_load_relaxed(&turn) + 1);
		linger(round);
		wp_vthread_unpark(ring[(own + 1) % THREADS]);
	}
	return 0;
}

static void vthread(void)
{
	open_group(false);
	wp_store_relaxed(&turn, THREADS - 1);
	for (size_t at = 0; at < THREADS; at++) {
		wp_vthread_config config = {
			.run = parks_in_ring, .arg = (void *)at, .carrier = (int)(at % CARRIERS)};

		if (wp_vthread_new(group, &config, &ring[at]) != WP_OK)
			abort();
	}
	for (size_t at = 0; at < THREADS; at++)
		wp_vthread_start(ring[at]);
	join(ring[0]);
}

/* A pinned thread of each carrier, unparked by a thread of the system. */
static int parks_pinned(void *arg)
{
	wp_atomic(uint64_t) *mine = arg;

	wp_vthread_pin();
	for (;;) {
		while (wp_load_acquire(mine) == 0)
			wp_vthread_park_until(WP_FOREVER);
		wp_store_release(mine, 0);
		wp_parker_unpark(&parkers[0]);
	}
	return 0;
}

static void pinned(void)
{
	open_group(false);
	wp_parker_init(&parkers[0]);
	ring[0] = spawn_on(parks_pinned, &turn, 0, false);
	for (uint64_t round = 0;; round++) {
		wp_store_release(&turn, 1);
		wp_vthread_unpark(ring[0]);
		while (wp_load_acquire(&turn) != 0)
			wp_parker_park(&parkers[0]);
		linger(round);
	}
}

/* Virtual threads and threads of the system use one object. */
static wp_mutex mutex;
static wp_semaphore semaphore;
static wp_condition condition;
static wp_channel channel;
static void *slots[4];

static void use_mutex(void)
{
	wp_mutex_lock(&mutex);
	for (volatile int spin = 0; spin < 500; spin++)
		continue;
	wp_mutex_unlock(&mutex);
}

static void *uses_mutex(void *none)
{
	(void)none;
	for (;;)
		use_mutex();
	return NULL;
}

static int v_uses_mutex(void *none)
{
	for (;;) {
		use_mutex();
		wp_vthread_yield();
	}
	return none != NULL;
}

static void mutex_of(void)
{
	pthread_t thread;

	open_group(false);
	wp_mutex_init(&mutex);
	for (int at = 0; at < THREADS; at++)
		spawn_on(v_uses_mutex, NULL, at % CARRIERS, false);
	start(&thread, uses_mutex, NULL);
	uses_mutex(NULL);
}

static int v_acquires(void *none)
{
	for (;;) {
		wp_semaphore_acquire_until(&semaphore, 1, WP_FOREVER);
		if (wp_fetch_add_relaxed(&turn, 1) % 4 == 3)
			wp_parker_unpark(&parkers[0]);
	}
	return none != NULL;
}

/* Gives four permits at once, and waits until all were taken. */
static void semaphore_of(void)
{
	uint64_t given = 0;

	open_group(false);
	wp_parker_init(&parkers[0]);
	wp_semaphore_init(&semaphore, 0);
	for (int at = 0; at < 4; at++)
		spawn_on(v_acquires, NULL, at % CARRIERS, false);
	for (;;) {
		wp_semaphore_release(&semaphore, 4);
		given += 4;
		while (wp_load_acquire(&turn) < given)
			wp_parker_park(&parkers[0]);
		usleep(20);
	}
}

static int v_awaits(void *none)
{
	uint64_t seen = 0;

	for (;;) {
		wp_mutex_lock(&mutex);
		while (wp_load_relaxed(&turn) == seen)
			wp_condition_wait_until(&condition, &mutex, WP_FOREVER);
		seen = wp_load_relaxed(&turn);
		wp_mutex_unlock(&mutex);
		if (wp_fetch_add_acq_rel(&work, 1) % 4 == 3)
			wp_parker_unpark(&parkers[0]);
	}
	return none != NULL;
}

static void condition_of(void)
{
	uint32_t told = 0;

	open_group(false);
	wp_parker_init(&parkers[0]);
	wp_mutex_init(&mutex);
	wp_condition_init(&condition);
	for (int at = 0; at < 4; at++)
		spawn_on(v_awaits, NULL, at % CARRIERS, false);
	for (;;) {
		usleep(20);
		wp_mutex_lock(&mutex);
		wp_store_relaxed(&turn, wp_load_relaxed(&turn) + 1);
		wp_condition_broadcast(&condition);
		wp_mutex_unlock(&mutex);
		told += 4;
		while (wp_load_acquire(&work) != told)
			wp_parker_park(&parkers[0]);
	}
}

static int v_receives(void *none)
{
	void *item;

	for (uint64_t round = 0; wp_channel_receive_until(&channel, &item, WP_FOREVER) == WP_OK;
	     round++)
		if (round % 64 == 63)
			usleep(100);
	return none != NULL;
}

static int v_sends(void *none)
{
	while (wp_channel_send_until(&channel, &channel, WP_FOREVER) == WP_OK)
		continue;
	return none != NULL;
}

static void channel_of(void)
{
	open_group(false);
	wp_channel_init(&channel, slots, 4);
	for (int at = 0; at < 3; at++)
		spawn_on(v_sends, NULL, at % CARRIERS, false);
	spawn_on(v_receives, NULL, 0, false);
	for (;;)
		pause();
}

static void channel_close(void)
{
	open_group(false);
	for (;;) {
		wp_vthread *threads[4];

		wp_channel_init(&channel, slots, 4);
		for (int at = 0; at < 4; at++)
			threads[at] = spawn_on(v_receives, NULL, at % CARRIERS, false);
		usleep(100);
		wp_channel_close(&channel);
		for (int at = 0; at < 4; at++)
			join(threads[at]);
	}
}

/* Several threads wait until a latch opens. */
static wp_latch latch;

static int v_waits(void *none)
{
	wp_latch_wait_until(&latch, WP_FOREVER);
	return none != NULL;
}

static void latch_of(void)
{
	open_group(false);
	for (;;) {
		wp_vthread *threads[4];

		wp_latch_init(&latch);
		for (int at = 0; at < 4; at++)
			threads[at] = spawn_on(v_waits, NULL, at % CARRIERS, false);
		usleep(100);
		wp_latch_open(&latch);
		for (int at = 0; at < 4; at++)
			join(threads[at]);
	}
}

/* Deadlines of other carriers come closer. */
static int v_sleeps(void *arg)
{
	int64_t until_ns = wp_clock_ns() + (int64_t)(size_t)arg;

	return wp_vthread_sleep_until(until_ns) != WP_OK;
}

static void timer(void)
{
	open_group(false);
	spawn_on(v_sleeps, (void *)1000000000000, 0, false);
	for (;;) {
		wp_vthread *threads[THREADS];

		for (int at = 0; at < THREADS; at++)
			threads[at] = spawn_on(v_sleeps, (void *)200000, 0, false);
		for (int at = 0; at < THREADS; at++)
			join(threads[at]);
	}
}

/* Groups are closed. */
static void close_group(void)
{
	for (;;) {
		open_group(false);
		for (int at = 0; at < THREADS; at++)
			wp_vthread_free(spawn_on(does, (void *)1, at % CARRIERS, false));
		if (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
			abort();
		wp_group_free(group);
	}
}

/* All wait, virtual threads and threads of the system, for what does not come. */
static int v_locks(void *none)
{
	wp_mutex_lock(&mutex);
	return none != NULL;
}

static void *receives(void *none)
{
	v_receives(none);
	return none;
}

static void *acquires(void *none)
{
	v_acquires(none);
	return none;
}

static void rest(void)
{
	wp_vthread *thread;
	pthread_t one;

	open_group(false);
	wp_mutex_init(&mutex);
	wp_semaphore_init(&semaphore, 0);
	wp_latch_init(&latch);
	wp_channel_init(&channel, slots, 4);
	wp_mutex_lock(&mutex);
	spawn_on(v_locks, NULL, 0, false);
	spawn_on(v_acquires, NULL, 1, false);
	spawn_on(v_receives, NULL, 2, false);
	spawn_on(v_waits, NULL, 0, false);
	thread = spawn_on(v_waits, NULL, 1, false);
	start(&one, uses_mutex, NULL);
	start(&one, acquires, NULL);
	start(&one, receives, NULL);
	join(thread);
}

static const struct {
	const char *name;
	void (*runs)(void);
} modes[] = {
	{"parker", parker},
	{"parker_close", parker_close},
	{"guard", guard},
	{"guard_asymmetric", guard_asymmetric},
	{"lock", lock_of},
	{"submit", submit},
	{"single", single},
	{"poll", poll},
	{"poll_rest", poll_rest},
	{"submit_bounded", submit_bounded},
	{"internal", internal},
	{"vthread", vthread},
	{"pinned", pinned},
	{"mutex", mutex_of},
	{"semaphore", semaphore_of},
	{"condition", condition_of},
	{"channel", channel_of},
	{"channel_close", channel_close},
	{"latch", latch_of},
	{"timer", timer},
	{"rest", rest},
	{"close", close_group},
};

static void ended(int number)
{
	(void)number;
	_exit(0);
}

int main(int count, char **words)
{
	if (count != 3)
		return 2;
	signal(SIGALRM, ended);
	alarm((unsigned)atoi(words[2])); /* a signal, because no thread may sleep by time */
	for (size_t at = 0; at < sizeof modes / sizeof *modes; at++)
		if (strcmp(modes[at].name, words[1]) == 0)
			modes[at].runs();
	return 2;
}
