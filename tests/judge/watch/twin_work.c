/* SPDX-License-Identifier: Apache-2.0
 * twin_work.c MODE SECONDS - threads that wake one another by the kernel, again and again. A kernel
 * with a defect may lose a wakeup, and then all of them sleep. Otherwise the program exits with 0
 * after that time. It waits without limit everywhere: a timeout would hide the loss. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "io/descriptor.h"
#include "io/file.h"
#include "pool/pool.h"
#include "sched/group.h"
#include "sched/vthread_start.h"
#include "scope/scope.h"
#include "sync/channel.h"
#include "sync/condition.h"
#include "sync/mutex.h"
#include "sync/semaphore.h"
#include "thread/latch.h"
#include "wakeup/guard.h"
#include "wakeup/parker.h"

enum { CARRIERS = 3, THREADS = 8 };

/* The kernel calls this before each atomic operation, with the place of the call. For a while, each
 * thread is slow at a few places, and at full speed at all others: there it sleeps for up to 100 us,
 * in which others come to rest, or spins for up to 2 us. Then other places are its slow ones. In one
 * while of four no place is slow, because a sleep empties the store buffer of its CPU. */
static uint64_t mixed(uint64_t value)
{
	value = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
	return value ^ value >> 29;
}

void wp__stress_delay(void);
void wp__stress_delay(void)
{
	static _Thread_local uint64_t state, place, left;

	if (left-- == 0) {
		state = mixed(state + (uint64_t)wp_clock_ns() + (uint64_t)(size_t)&state);
		place = state % 4 == 0 ? 0 : state;
		left = 100 + state % 1000;
	}
	if (place == 0 || mixed(place + (uint64_t)(size_t)__builtin_return_address(0)) % 16 != 0)
		return;
	state = mixed(state + 1);
	if (state % 4 == 0)
		usleep(1 + (unsigned)(state >> 32) % 100);
	else
		for (volatile uint64_t spin = (state >> 32) % 2000; spin > 0; spin--)
			continue;
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

/* Several threads want a lock of the kernel's own, and a round ends when all have had it: a later
 * release would make up for one that was lost. */
static wp_lock lock;

static void *locks(void *none)
{
	for (int again = 0; again < 4; again++) {
		wp_lock_acquire(&lock);
		for (volatile int spin = 0; spin < 2000; spin++)
			continue;
		wp_lock_release(&lock);
	}
	return none;
}

static void lock_of(void)
{
	for (;;) {
		pthread_t threads[3];

		for (int at = 0; at < 3; at++)
			start(&threads[at], locks, NULL);
		for (int at = 0; at < 3; at++)
			pthread_join(threads[at], NULL);
	}
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
static void one_by_one(void)
{
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

static void single(void)
{
	open_group(false);
	one_by_one();
}

/* Carriers that do not steal sleep at once, where one that steals looks again after some time. */
static void single_alone(void)
{
	wp_group_config config = {.carriers = CARRIERS};

	if (wp_group_new(&group, &config) != WP_OK)
		abort();
	one_by_one();
}

/* As `submit`, with carriers that sleep in their pollers. */
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

/* Tasks of one carrier: more than its ring holds, pinned ones, and one that runs next. Without
 * thieves it has a queue of its own for them. */
static int starts_many(void *none)
{
	enum { MANY = 1500 };
	static wp_vthread *threads[MANY];

	for (;;) {
		wp_vthread_config config = {.run = does, .carrier = WP_VTHREAD_HERE};
		wp_vthread *next;

		for (int at = 0; at < MANY; at++)
			threads[at] = spawn_on(does, NULL, WP_VTHREAD_HERE, at % 4 == 3);
		for (int at = 0; at < MANY; at++)
			join(threads[at]);
		if (wp_vthread_new(group, &config, &next) != WP_OK)
			abort();
		wp_vthread_submit_and_yield(next);
		join(next);
	}
	return none != NULL;
}

static void many_of(bool bounded, bool steals)
{
	wp_group_config config = {
		.carriers = CARRIERS, .work_stealing = steals, .bounded = bounded};

	if (wp_group_new(&group, &config) != WP_OK)
		abort();
	spawn_on(starts_many, NULL, 0, true);
	for (;;)
		pause();
}

static void many(void)
{
	many_of(false, false);
}

static void many_bounded(void)
{
	many_of(true, true);
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
	use_mutex();
	return none;
}

/* Holds the mutex while others run, so that they get in line; some of those wait for a while only. */
static int v_uses_mutex(void *arg)
{
	int64_t until_ns = arg == NULL ? WP_FOREVER : wp_clock_ns() + (int64_t)(size_t)arg;

	if (wp_mutex_lock_until(&mutex, until_ns) != WP_OK)
		return 0;
	wp_vthread_yield();
	wp_mutex_unlock(&mutex);
	return 0;
}

/* A round ends when each thread has had the mutex. */
static void mutex_of(void)
{
	open_group(false);
	wp_mutex_init(&mutex);
	for (size_t round = 0;; round++) {
		wp_vthread *threads[THREADS];
		pthread_t thread;

		start(&thread, uses_mutex, NULL);
		for (size_t at = 0; at < THREADS; at++)
			threads[at] =
				spawn_on(v_uses_mutex, (void *)(at % 2 * (1 + round % 64) * 1000),
					 (int)(at % CARRIERS), false);
		use_mutex();
		for (int at = 0; at < THREADS; at++)
			join(threads[at]);
		pthread_join(thread, NULL);
	}
}

/* The first waiter wants more permits than there are, and leaves; the second one wants fewer. */
static int v_acquires_two(void *until_ns)
{
	if (wp_semaphore_acquire_until(&semaphore, 2, *(int64_t *)until_ns) == WP_OK)
		wp_semaphore_release(&semaphore, 2);
	return 0;
}

static int v_acquires_one(void *none)
{
	wp_semaphore_acquire_until(&semaphore, 1, WP_FOREVER);
	wp_semaphore_release(&semaphore, 1);
	return none != NULL;
}

static void semaphore_leaves(void)
{
	open_group(false);
	for (;;) {
		int64_t until_ns = wp_clock_ns() + 300000;
		wp_vthread *two, *one;

		wp_semaphore_init(&semaphore, 1);
		two = spawn_on(v_acquires_two, &until_ns, 0, false);
		usleep(50);
		one = spawn_on(v_acquires_one, NULL, 1, false);
		join(two);
		join(one);
	}
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
	for (int at = 0; at < 2; at++)
		wp_channel_send_until(&channel, &channel, WP_FOREVER);
	return none != NULL;
}

/* Six items for four slots: two are received, and then each sender must have sent. */
static void channel_of(void)
{
	open_group(false);
	for (;;) {
		wp_vthread *threads[3];
		void *item;

		wp_channel_init(&channel, slots, 4);
		for (int at = 0; at < 3; at++)
			threads[at] = spawn_on(v_sends, NULL, at, false);
		usleep(50);
		for (int at = 0; at < 2; at++)
			wp_channel_receive_until(&channel, &item, WP_FOREVER);
		for (int at = 0; at < 3; at++)
			join(threads[at]);
	}
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

/* The same, for threads that a thread of the system runs: their home sleeps by an earlier look. */
static wp_atomic(wp_vthread *) given;

static void gives(void *none, wp_vthread *thread)
{
	(void)none;
	wp_store_release(&given, thread);
	wp_parker_unpark(&parkers[0]);
}

static void timer_given(void)
{
	static const wp_scheduler scheduler = {.submit = gives};

	open_group(false);
	wp_parker_init(&parkers[0]);
	for (;;) {
		wp_vthread_config config = {
			.run = v_sleeps, .arg = (void *)200000, .scheduler = &scheduler};
		wp_vthread *thread;

		if (wp_vthread_new(group, &config, &thread) != WP_OK ||
		    wp_vthread_start(thread) != WP_OK)
			abort();
		while (!wp_vthread_is_done(thread)) {
			wp_vthread *next = wp_exchange_acquire(&given, NULL);

			if (next != NULL)
				wp_vthread_run(next);
			else
				wp_parker_park(&parkers[0]);
		}
		join(thread);
	}
}

/* Tasks without a stack hand a turn around. */
static wp_task tasks[THREADS];

static enum wp_step steps_in_ring(wp_task *task)
{
	uint64_t own = (uint64_t)(task - tasks);

	if (wp_load_acquire(&turn) % THREADS != own)
		return WP_STEP_PARK;
	wp_store_release(&turn, wp_load_relaxed(&turn) + 1);
	wp_task_unpark(&tasks[(own + 1) % THREADS]);
	return WP_STEP_PARK;
}

static void task(void)
{
	open_group(false);
	for (uint32_t at = 0; at < THREADS; at++) {
		wp_task_init(&tasks[at], steps_in_ring, NULL);
		if (wp_group_start(group, at % CARRIERS, &tasks[at]) != WP_OK)
			abort();
	}
	for (;;)
		pause();
}

/* A task blocks its carrier until another one has run, which is queued behind it: an idle carrier
 * must take that one. Two tasks at most block, so that a carrier is left. */
static int wakes(void *parker)
{
	wp_parker_unpark(parker);
	return 0;
}

static int blocks(void *parker)
{
	wp_parker_park(parker);
	return 0;
}

static int blocks_inside(void *again)
{
	for (;;) {
		wp_parker own;
		wp_vthread *thread, *other;

		wp_parker_init(&own);
		thread = spawn_on(wakes, &own, WP_VTHREAD_HERE, false);
		wp_parker_park(&own);
		join(thread);
		if (again != NULL)
			continue;
		other = spawn_on(does, (void *)1, WP_VTHREAD_HERE, false);
		wp_vthread_yield();
		join(other);
	}
	return 0;
}

static void conserve_inside(bool bounded)
{
	open_group(bounded);
	for (size_t at = 0; at < 2; at++)
		spawn_on(blocks_inside, (void *)at, (int)at, false);
	for (;;)
		pause();
}

static void conserve(void)
{
	conserve_inside(false);
}

static void conserve_bounded(void)
{
	conserve_inside(true);
}

static void *submits_both(void *arg)
{
	for (size_t round = 0;; round++) {
		int carrier = (int)((round / 8 + (size_t)arg) % CARRIERS);
		wp_vthread *threads[2];
		wp_parker own;

		wp_parker_init(&own);
		if (round % 4 == 3)
			usleep(100);
		threads[0] = spawn_on(blocks, &own, carrier, round % 2 != 0);
		threads[1] = spawn_on(wakes, &own, carrier, false);
		for (int at = 0; at < 2; at++)
			join(threads[at]);
	}
	return NULL;
}

static void conserve_outside(bool bounded)
{
	pthread_t thread;

	open_group(bounded);
	start(&thread, submits_both, (void *)1);
	submits_both(NULL);
}

static void conserve_out(void)
{
	conserve_outside(false);
}

static void conserve_out_bounded(void)
{
	conserve_outside(true);
}

/* Two readers and two writers of sockets. */
static wp_io *ends[2];

static wp_io *io_of(int fd)
{
	wp_io *io;

	if (wp_io_new(group, fd, &io) != WP_OK)
		abort();
	return io;
}

static void open_io(void)
{
	int fds[2];

	open_group(false);
	if (wp_io_start(group, 0) != WP_OK || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		abort();
	for (int at = 0; at < 2; at++)
		ends[at] = io_of(fds[at]);
}

static int v_echoes(void *arg)
{
	wp_io *io = ends[(size_t)arg];
	char byte = 0;
	size_t done;

	if (arg != NULL)
		wp_io_write(io, &byte, 1, WP_FOREVER, &done);
	for (uint64_t round = 0;; round++) {
		if (wp_io_read(io, &byte, 1, WP_FOREVER, &done) != WP_OK)
			abort();
		linger(round);
		wp_io_write(io, &byte, 1, WP_FOREVER, &done);
	}
	return 0;
}

static void io(void)
{
	open_io();
	for (size_t at = 0; at < 2; at++)
		spawn_on(v_echoes, (void *)at, (int)at, false);
	for (;;)
		pause();
}

/* Several threads read one socket: the bytes for all come at once, or its end. */
static int v_reads(void *end)
{
	char byte;
	size_t done;

	wp_io_read(end, &byte, 1, WP_FOREVER, &done);
	return 0;
}

static void io_reads(bool at_end)
{
	open_io();
	for (;;) {
		wp_vthread *threads[4];
		size_t done;

		for (int at = 0; at < 4; at++)
			threads[at] = spawn_on(v_reads, ends[0], at % CARRIERS, false);
		usleep(100);
		if (at_end)
			shutdown(ends[1]->fd, SHUT_WR);
		else
			wp_io_write(ends[1], "abcd", 4, WP_FOREVER, &done);
		for (int at = 0; at < 4; at++)
			join(threads[at]);
		if (at_end) {
			int fds[2];

			wp_io_free(ends[0]);
			wp_io_free(ends[1]);
			if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
				abort();
			ends[0] = io_of(fds[0]);
			ends[1] = io_of(fds[1]);
		}
	}
}

static void io_pass(void)
{
	io_reads(false);
}

static void io_end(void)
{
	io_reads(true);
}

/* A close ends a read: of the descriptor, or of the group of its poller. */
static void io_close(void)
{
	open_group(false);
	if (wp_io_start(group, 0) != WP_OK)
		abort();
	for (;;) {
		wp_vthread *thread;
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
			abort();
		ends[0] = io_of(fds[0]);
		thread = spawn_on(v_reads, ends[0], 1, false);
		usleep(100);
		wp_io_close(ends[0]);
		join(thread);
		wp_io_free(ends[0]);
		close(fds[1]);
	}
}

static void *reads(void *end)
{
	v_reads(end);
	return NULL;
}

static void io_group_close(void)
{
	for (;;) {
		pthread_t one;

		open_io();
		start(&one, reads, ends[0]);
		usleep(200);
		if (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
			abort();
		pthread_join(one, NULL);
		wp_io_free(ends[0]);
		wp_io_free(ends[1]);
		wp_group_free(group);
	}
}

/* A pool runs jobs, of which each second one waits for the one behind it. */
static wp_pool *pool;
static wp_parker pair;

static void job_counts(void *none)
{
	(void)none;
	wp_parker_unpark(&pair);
	if (wp_fetch_add_acq_rel(&work, 1) % 2 == 1)
		wp_parker_unpark(&parkers[0]);
}

static void job_waits(void *none)
{
	wp_parker_park(&pair);
	job_counts(none);
}

static void open_pool(int64_t idle_ns)
{
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = idle_ns == WP_FOREVER ? 2 : 1;
	config.max = 2;
	config.idle_ns = idle_ns;
	config.evictions = 2;
	config.reserved = 0;
	if (wp_pool_new(&config, &pool) != WP_OK)
		abort();
}

static void execute(void (*run)(void *), void *arg)
{
	wp_job job = {.run = run, .arg = arg};

	if (wp_pool_execute(pool, &job) != WP_OK)
		abort();
}

static void run_jobs(void)
{
	uint32_t seen = wp_load_relaxed(&work);

	wp_parker_init(&pair);
	execute(job_waits, NULL);
	execute(job_counts, NULL);
	while (wp_load_acquire(&work) != seen + 2)
		wp_parker_park(&parkers[0]);
}

static void pool_rounds(int64_t idle_ns)
{
	wp_parker_init(&parkers[0]);
	open_pool(idle_ns);
	for (uint64_t round = 0;; round++) {
		run_jobs();
		usleep(round % 8 * 20);
	}
}

static void pool_of(void)
{
	pool_rounds(WP_FOREVER);
}

static void pool_idle(void)
{
	pool_rounds(100000);
}

static void pool_close(void)
{
	wp_parker_init(&parkers[0]);
	for (uint64_t round = 0;; round++) {
		open_pool(WP_FOREVER);
		if (round % 2)
			run_jobs();
		usleep(round % 8 * 20);
		wp_pool_close(pool);
		if (wp_pool_wait(pool, WP_FOREVER) != WP_OK)
			abort();
		wp_pool_free(pool);
	}
}

/* A thread of the pool waits in reserve when it is stopped. */
static void pool_reserve(void)
{
	wp_job job = {.run = job_counts};

	wp_parker_init(&parkers[0]);
	wp_parker_init(&pair);
	for (uint64_t round = 0;; round++) {
		wp_pool_config config;

		wp_pool_config_init(&config);
		config.min = 1;
		config.max = 3;
		config.reserved = 1;
		if (wp_pool_new(&config, &pool) != WP_OK)
			abort();
		wp_pool_try_execute(pool, &job); /* refused, and brings one into reserve */
		usleep(round % 8 * 30);
		if (wp_pool_stop(pool, WP_FOREVER) != WP_OK)
			abort();
		wp_pool_free(pool);
	}
}

/* Scopes of a virtual thread and of a thread of the system. In every second one a subtask fails,
 * which ends another one, and must end the join, because the third one stays until then. */
enum { ENDS, FAILS, PARKS, STAYS };
static wp_atomic(uint64_t) joined[2]; /* the newest round, by owner */

static int subtask_of(void *arg)
{
	uint64_t what = (uint64_t)(size_t)arg, round = what / 8;

	linger(round);
	if (what % 4 == FAILS)
		return 1;
	while (what % 4 == PARKS && wp_vthread_park_until(WP_FOREVER) == WP_OK)
		continue;
	while (what % 4 == STAYS && wp_load_acquire(&joined[what / 4 % 2]) != round) {
		wp_vthread_park_until(WP_FOREVER);
		wp_vthread_clear_interrupt();
	}
	return 0;
}

static int scopes(void *arg)
{
	size_t owner = (size_t)arg;

	for (size_t round = 0;; round++) {
		wp_scope_config config = {.policy = WP_SCOPE_ALL};
		wp_subtask subtasks[3];
		wp_scope scope;

		if (wp_scope_open(&scope, group, &config) != WP_OK)
			abort();
		for (size_t at = 0; at < 3; at++)
			wp_scope_fork(&scope, &subtasks[at], subtask_of,
				      (void *)(round % 2 * (at + 1) + 4 * owner + 8 * round));
		wp_scope_join(&scope, NULL);
		wp_store_release(&joined[owner], round);
		if (subtasks[2].member.thread != NULL)
			wp_vthread_unpark(subtasks[2].member.thread);
		wp_scope_close(&scope);
	}
	return 0;
}

static void scope(void)
{
	open_group(false);
	spawn_on(scopes, (void *)1, 0, false);
	scopes(NULL);
}

/* Groups are closed. */
static void *closes(void *none)
{
	if (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
		abort();
	return none;
}

static void close_group(void)
{
	for (;;) {
		open_group(false);
		for (int at = 0; at < THREADS; at++)
			wp_vthread_free(spawn_on(does, (void *)1, at % CARRIERS, false));
		closes(NULL);
		wp_group_free(group);
	}
}

/* A pinned thread and another one of its carrier wake each other: a spare thread runs the carrier
 * while the pinned one sleeps. */
static void open_lent(uint32_t carriers, uint32_t spares)
{
	wp_group_config config = {.carriers = carriers, .work_stealing = true, .spares = spares};

	if (wp_group_new(&group, &config) != WP_OK)
		abort();
}

static int wakes_pinned(void *none)
{
	for (;;) {
		wp_store_release(&turn, 1);
		wp_vthread_unpark(ring[0]);
		while (wp_load_acquire(&turn) != 0)
			wp_vthread_park_until(WP_FOREVER);
	}
	return none != NULL;
}

static int parks_lent(void *none)
{
	wp_vthread_pin();
	ring[1] = spawn_on(wakes_pinned, NULL, 0, true);
	for (;;) {
		while (wp_load_acquire(&turn) == 0)
			wp_vthread_park_until(WP_FOREVER);
		wp_store_release(&turn, 0);
		wp_vthread_unpark(ring[1]);
	}
	return none != NULL;
}

static void start_first(int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.run = run, .arg = arg, .is_pinned = true};

	if (wp_vthread_new(group, &config, &ring[0]) != WP_OK || wp_vthread_start(ring[0]) != WP_OK)
		abort();
}

static void lent(void)
{
	open_lent(1, 1);
	start_first(parks_lent, NULL);
	join(ring[0]);
}

/* A pinned thread that was unparked blocks its carrier until a task has run that is queued there. */
static int blocks_after(void *own)
{
	wp_vthread_pin();
	for (;;) {
		while (wp_load_acquire(&turn) == 0)
			wp_vthread_park_until(WP_FOREVER);
		wp_store_release(&turn, 0);
		wp_parker_park(own);
		wp_parker_unpark(&parkers[0]);
	}
	return 0;
}

static void lent_conserve(void)
{
	wp_parker own;

	open_lent(2, 1);
	wp_parker_init(&parkers[0]);
	wp_parker_init(&own);
	start_first(blocks_after, &own);
	for (uint64_t round = 0;; round++) {
		wp_vthread *other;

		if (round % 4 == 3)
			usleep(50);
		wp_store_release(&turn, 1);
		wp_vthread_unpark(ring[0]);
		linger(round);
		other = spawn_on(wakes, &own, 0, false);
		wp_parker_park(&parkers[0]);
		join(other);
	}
}

/* A group is closed while a thread of it is parked and pinned, and is unparked then. */
static int parks_once_pinned(void *none)
{
	wp_vthread_pin();
	while (wp_load_acquire(&turn) == 0)
		wp_vthread_park_until(WP_FOREVER);
	return none != NULL;
}

static void *unparks_late(void *thread)
{
	usleep(300);
	wp_store_release(&turn, 1);
	wp_vthread_unpark(thread);
	return NULL;
}

static void lent_close(void)
{
	for (;;) {
		pthread_t one;

		wp_store_relaxed(&turn, 0);
		open_lent(1, 1);
		start_first(parks_once_pinned, NULL);
		usleep(100);
		start(&one, unparks_late, ring[0]);
		if (wp_group_close(group, WP_FOREVER, true, NULL, NULL) != WP_OK)
			abort();
		pthread_join(one, NULL);
		wp_vthread_free(ring[0]);
		wp_group_free(group);
	}
}

/* A task announces that it blocks its carrier, until one has run that was queued behind it. Others
 * block without saying so: one that is queued there as well, or one of another carrier. */
static wp_parker blocked[3];

static int announces(void *own)
{
	wp_group_block();
	wp_parker_park(own);
	wp_group_unblock();
	return 0;
}

static int wakes_blocked(void *count)
{
	for (size_t at = 0; at < (size_t)count; at++)
		wp_parker_unpark(&blocked[at]);
	return 0;
}

static void open_placed(uint32_t carriers, bool bounded, uint32_t spare_carriers,
			uint32_t monitor_ms)
{
	wp_group_config config = {.carriers = carriers,
				  .bounded = bounded,
				  .placement = WP_PLACE_TWO_CHOICES,
				  .spare_carriers = spare_carriers,
				  .monitor_ms = monitor_ms};

	if (wp_group_new(&group, &config) != WP_OK)
		abort();
	for (size_t at = 0; at < 3; at++)
		wp_parker_init(&blocked[at]);
}

static void placed(void)
{
	open_placed(3, false, 0, 0);
	for (uint64_t round = 0;; round++) {
		int at = (int)(round / 3 % 3);
		size_t many = round % 3 == 0 ? 1 : 2;
		wp_vthread *threads[3];

		threads[0] = spawn_on(announces, &blocked[0], at, false);
		if (many == 2)
			threads[1] = spawn_on(blocks, &blocked[1],
					      round % 3 == 1 ? at : (at + 1) % 3, false);
		linger(round);
		threads[many] = spawn_on(wakes_blocked, (void *)many, at, false);
		for (size_t each = 0; each <= many; each++)
			join(threads[each]);
		if (round % 16 == 15)
			usleep(50);
	}
}

/* The same for what a task has queued itself, in the ring of its carrier. */
static int announces_after(void *other)
{
	*(wp_vthread **)other = spawn_on(wakes_blocked, (void *)1, WP_VTHREAD_HERE, false);
	return announces(&blocked[0]);
}

static void placed_bounded(void)
{
	open_placed(2, true, 0, 0);
	for (int round = 0;; round++) {
		wp_vthread *other;

		join(spawn_on(announces_after, &other, round % 2, false));
		join(other);
	}
}

/* All carriers are blocked, so that spare ones must run what wakes them. */
static void replaced(void)
{
	open_placed(2, false, 2, 0);
	for (int round = 0;; round++) {
		wp_vthread *threads[3];

		for (int at = 0; at < 2; at++)
			threads[at] = spawn_on(announces, &blocked[at], at, false);
		if (round % 4 == 3)
			usleep(100);
		threads[2] = spawn_on(wakes_blocked, (void *)2, round % 2, false);
		for (int at = 0; at < 3; at++)
			join(threads[at]);
	}
}

/* Two tasks block both carriers without saying so, one of them after it has queued what wakes them:
 * the monitor must find its carrier, and a spare one must run that. */
static int blocks_begun(void *own)
{
	wp_store_release(&work, 1);
	wp_parker_unpark(&parkers[0]);
	return blocks(own);
}

static int blocks_last(void *waker)
{
	while (wp_load_acquire(&work) == 0)
		wp_parker_park(&parkers[0]);
	*(wp_vthread **)waker = spawn_on(wakes_blocked, (void *)2, WP_VTHREAD_HERE, false);
	return blocks(&blocked[0]);
}

/* Each round has a group of its own. In one that has marked a carrier before, a task can be moved to
 * the group's queue after that mark has ended; the monitor does not count it as queued behind a
 * carrier, so it stays there while the two block. */
static void watched(void)
{
	wp_parker_init(&parkers[0]);
	for (;;) {
		wp_vthread *threads[3];

		open_placed(2, false, 2, 5);
		wp_store_relaxed(&work, 0);
		threads[0] = spawn_on(blocks_last, &threads[2], 0, false);
		threads[1] = spawn_on(blocks_begun, &blocked[1], 1, false);
		for (int at = 0; at < 3; at++)
			join(threads[at]);
		closes(NULL);
		wp_group_free(group);
	}
}

/* Operations on files: some by threads that were stolen, away from their home's ring; more at once
 * than the ring takes; and some that are cancelled, by a deadline. */
static int files[3]; /* an empty pipe, and a file that takes all */

static int v_writes_file(void *none)
{
	char byte = 0;
	size_t done;

	for (int at = 0; at < 2; at++)
		wp_file_write(files[2], &byte, 1, WP_FILE_HERE, WP_FOREVER, &done);
	return none != NULL;
}

static int v_reads_file(void *after_ns)
{
	char byte;
	size_t done;

	wp_file_read(files[0], &byte, 1, WP_FILE_HERE, wp_clock_ns() + (int64_t)(size_t)after_ns,
		     &done);
	return 0;
}

static void files_of(void)
{
	enum { MOST = 100 };
	static wp_vthread *threads[MOST];

	open_group(false);
	files[2] = open("/dev/null", O_WRONLY);
	if (wp_io_start(group, 0) != WP_OK || pipe(files) != 0 || files[2] < 0 ||
	    wp_file_lacks(group) != NULL)
		abort();
	for (size_t round = 0;; round++) {
		int many = round % 64 == 63 ? MOST : 3, carrier = (int)(round % CARRIERS);

		for (int at = 0; at < many; at++)
			threads[at] = at == 2 ? spawn_on(v_reads_file, (void *)(round % 64 * 5000),
							 carrier, false)
					      : spawn_on(v_writes_file, NULL, carrier, false);
		for (int at = 0; at < many; at++)
			join(threads[at]);
	}
}

/* A close hands a thread back that stands in a queue, or has just been given what it waits for: a
 * thread of the system is next in that queue. */
static wp_atomic(uint32_t) is_told, has_run;

static int holds_mutex(void *none)
{
	wp_mutex_lock(&mutex);
	while (wp_vthread_park_until(WP_FOREVER) == WP_OK)
		continue;
	return none != NULL;
}

static void *next_uses_mutex(void *none)
{
	use_mutex();
	return none;
}

static int uses_mutex_first(void *none)
{
	return next_uses_mutex(none) != NULL;
}

static void *next_acquires(void *none)
{
	wp_semaphore_acquire_until(&semaphore, 1, WP_FOREVER);
	return none;
}

static int acquires_first(void *none)
{
	next_acquires(none);
	wp_store_relaxed(&has_run, 1);
	return none != NULL;
}

static void *next_awaits(void *none)
{
	wp_mutex_lock(&mutex);
	while (wp_load_relaxed(&is_told) == 0)
		wp_condition_wait_until(&condition, &mutex, WP_FOREVER);
	wp_mutex_unlock(&mutex);
	return none;
}

static int awaits_first(void *none)
{
	next_awaits(none);
	wp_store_relaxed(&has_run, 1);
	return none != NULL;
}

/* Returns the waiter that stands last in a queue, which others change meanwhile. */
static wp_waiter *last_of(const wp_wait_queue *queue)
{
	return *(wp_waiter *const volatile *)&queue->last;
}

/* Waits until the first holds the mutex, if it is not to stand in the queue, or else stands there. */
static void await_first(const wp_wait_queue *queue, bool stands)
{
	while (stands ? last_of(queue) == NULL
		      : *(wp_vthread *const volatile *)&mutex.holder == NULL)
		usleep(20);
}

static void hand_back(const wp_wait_queue *queue, int (*first)(void *), void *(*next)(void *),
		      void (*gives)(void), bool at_once)
{
	wp_vthread *thread;
	wp_waiter *its;
	pthread_t one;

	open_group(false);
	wp_store_relaxed(&is_told, 0);
	wp_store_relaxed(&has_run, !at_once);
	thread = spawn_on(first, NULL, 0, false);
	await_first(queue, first != holds_mutex);
	its = last_of(queue);
	start(&one, next, NULL);
	while (last_of(queue) == its)
		usleep(20);
	if (at_once)
		gives();
	if (wp_group_close(group, WP_FOREVER, true, NULL, NULL) != WP_OK)
		abort();
	if (gives != NULL && wp_load_relaxed(&has_run) != 0)
		gives(); /* the first has used up what was given, or nothing was given yet */
	pthread_join(one, NULL);
	wp_vthread_free(thread);
	wp_group_free(group);
}

static void gives_mutex(void)
{
	wp_mutex_unlock(&mutex);
}

static void gives_permit(void)
{
	wp_semaphore_release(&semaphore, 1);
}

static void gives_signal(void)
{
	wp_mutex_lock(&mutex);
	wp_store_relaxed(&is_told, 1);
	wp_condition_signal(&condition);
	wp_mutex_unlock(&mutex);
}

static void back(void)
{
	wp_mutex_init(&mutex);
	wp_semaphore_init(&semaphore, 0);
	for (;;) {
		wp_mutex_lock(&mutex);
		hand_back(&mutex.line, uses_mutex_first, next_uses_mutex, gives_mutex, false);
		hand_back(&mutex.line, holds_mutex, next_uses_mutex, NULL, false);
		hand_back(&semaphore.line, acquires_first, next_acquires, gives_permit, false);
	}
}

static void back_permit(void)
{
	wp_semaphore_init(&semaphore, 0);
	for (;;)
		hand_back(&semaphore.line, acquires_first, next_acquires, gives_permit, true);
}

static void back_signal(void)
{
	wp_mutex_init(&mutex);
	wp_condition_init(&condition);
	for (;;)
		hand_back(&condition.line, awaits_first, next_awaits, gives_signal, true);
}

/* A group is freed while a thread of the system is about to leave it. */
static void *gives_late(void *none)
{
	gives_permit();
	return none;
}

static void group_free(void)
{
	wp_semaphore_init(&semaphore, 0);
	for (;;) {
		pthread_t one;

		open_group(false);
		wp_vthread_free(spawn_on(acquires_first, NULL, 0, false));
		usleep(50);
		start(&one, gives_late, NULL);
		if (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
			abort();
		wp_group_free(group);
		pthread_join(one, NULL);
	}
}

/* Two closes of one group at the same time. */
static void close_twice(void)
{
	for (;;) {
		pthread_t one;

		open_group(false);
		start(&one, closes, NULL);
		closes(NULL);
		pthread_join(one, NULL);
		wp_group_free(group);
	}
}

/* A close gives up because a step does not end, and the next one finds tasks that no carrier runs. */
static int parks_for_ever(void *none)
{
	while (wp_vthread_park_until(WP_FOREVER) == WP_OK)
		continue;
	return none != NULL;
}

static void close_again(void)
{
	for (;;) {
		wp_vthread *threads[2];
		wp_parker own;

		open_group(false);
		wp_parker_init(&own);
		threads[0] = spawn_on(blocks, &own, 0, true);
		threads[1] = spawn_on(parks_for_ever, NULL, 1, false);
		usleep(1000);
		if (wp_group_close(group, wp_clock_ns(), true, NULL, NULL) != WP_TIMEOUT)
			abort();
		wp_parker_unpark(&own);
		closes(NULL);
		for (int at = 0; at < 2; at++)
			wp_vthread_free(threads[at]);
		wp_group_free(group);
	}
}

/* A close waits for a thread that a scheduler has, until the scheduler has run it. */
static void *runs_late(void *arg)
{
	usleep(*(unsigned *)arg);
	wp_vthread_run(wp_exchange_acquire(&given, NULL));
	return NULL;
}

static void close_given(unsigned after_us, int64_t for_ns)
{
	static const wp_scheduler scheduler = {.submit = gives};
	wp_vthread_config config = {.run = parks_for_ever, .scheduler = &scheduler};
	wp_vthread *thread;
	pthread_t one;
	int code;

	open_group(false);
	wp_parker_init(&parkers[0]);
	if (wp_vthread_new(group, &config, &thread) != WP_OK || wp_vthread_start(thread) != WP_OK)
		abort();
	if (for_ns != WP_FOREVER) {
		code = wp_group_close(group, wp_clock_ns() + for_ns, true, NULL, NULL);
		if (code != WP_TIMEOUT)
			abort();
	}
	start(&one, runs_late, &after_us);
	if (wp_group_close(group, WP_FOREVER, true, NULL, NULL) != WP_OK)
		abort();
	pthread_join(one, NULL);
	wp_vthread_free(thread);
	wp_group_free(group);
}

static void close_parks(void)
{
	for (unsigned round = 0;; round++)
		close_given(round % 8 * 50, WP_FOREVER);
}

static void close_deadline(void)
{
	for (;;)
		close_given(0, 1000000);
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

static void *locks_mutex(void *none)
{
	v_locks(none);
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
	start(&one, locks_mutex, NULL);
	start(&one, acquires, NULL);
	start(&one, receives, NULL);
	join(thread);
}

/* The same for descriptors, scopes and pools: a scope whose subtask does not end, a socket without
 * bytes, an idle pool, and one that is closed while jobs of it wait and one is queued. */
static int joins_scope(void *none)
{
	wp_scope_config config = {.policy = WP_SCOPE_ALL};
	static wp_subtask subtask;
	static wp_scope scope;

	if (wp_scope_open(&scope, group, &config) != WP_OK)
		abort();
	wp_scope_fork(&scope, &subtask, v_waits, NULL);
	wp_scope_join(&scope, NULL);
	return none != NULL;
}

static void rest_outside(void)
{
	pthread_t one;

	open_io();
	wp_latch_init(&latch);
	wp_parker_init(&pair);
	start(&one, reads, ends[0]);
	spawn_on(v_reads, ends[1], 0, false);
	spawn_on(joins_scope, NULL, 1, false);
	open_pool(WP_FOREVER);
	open_pool(WP_FOREVER);
	for (int at = 0; at < 3; at++)
		execute(job_waits, NULL);
	wp_pool_close(pool);
	wp_pool_wait(pool, WP_FOREVER);
}

/* The same for roles, closes, blocked carriers and files: a pinned park with a task behind it and no
 * spare thread, one whose carrier a spare thread runs, two closes of its group, carriers that are all
 * blocked beside spare ones without a task, one that is blocked as its spare is, with a task left and
 * a monitor, and a read from an empty pipe. */
static void rest_replaced(void)
{
	pthread_t threads[2];

	open_lent(1, 0);
	start_first(parks_once_pinned, NULL);
	spawn_on(does, NULL, 0, false);
	open_lent(1, 1);
	start_first(parks_once_pinned, NULL);
	for (int at = 0; at < 2; at++)
		start(&threads[at], closes, NULL);
	usleep(100000); /* they have read which group */
	open_placed(1, false, 1, 1000);
	for (int at = 0; at < 2; at++) {
		wp_parker_init(&parkers[at]);
		spawn_on(announces, &parkers[at], 0, false);
		usleep(100000);
	}
	spawn_on(does, NULL, 0, false);
	open_placed(2, false, 2, 0);
	for (int at = 0; at < 2; at++)
		spawn_on(announces, &blocked[at], at, false);
	usleep(100000);
	open_group(false);
	if (wp_io_start(group, 0) != WP_OK || pipe(files) != 0)
		abort();
	join(spawn_on(v_reads_file, (void *)1000000000000000, 0, false));
}

/* Bytes have come, and what blocks all carriers keeps their pollers from seeing them. */
static int v_blocks(void *none)
{
	for (;;)
		pause();
	return none != NULL;
}

static void io_blocked(void)
{
	pthread_t one;

	open_io();
	start(&one, reads, ends[0]);
	usleep(100000);
	for (int at = 0; at < CARRIERS; at++)
		spawn_on(v_blocks, NULL, at, true);
	usleep(100000);
	if (write(ends[1]->fd, "a", 1) != 1)
		abort();
	pause();
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
	{"single_alone", single_alone},
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
	{"many", many},
	{"many_bounded", many_bounded},
	{"timer_given", timer_given},
	{"task", task},
	{"conserve", conserve},
	{"conserve_bounded", conserve_bounded},
	{"conserve_out", conserve_out},
	{"conserve_out_bounded", conserve_out_bounded},
	{"semaphore_leaves", semaphore_leaves},
	{"io", io},
	{"io_pass", io_pass},
	{"io_end", io_end},
	{"io_close", io_close},
	{"io_group_close", io_group_close},
	{"pool", pool_of},
	{"pool_idle", pool_idle},
	{"pool_close", pool_close},
	{"pool_reserve", pool_reserve},
	{"scope", scope},
	{"rest", rest},
	{"rest_outside", rest_outside},
	{"rest_replaced", rest_replaced},
	{"io_blocked", io_blocked},
	{"close", close_group},
	{"lent", lent},
	{"lent_conserve", lent_conserve},
	{"lent_close", lent_close},
	{"placed", placed},
	{"placed_bounded", placed_bounded},
	{"replaced", replaced},
	{"watched", watched},
	{"files", files_of},
	{"back", back},
	{"back_permit", back_permit},
	{"back_signal", back_signal},
	{"group_free", group_free},
	{"close_twice", close_twice},
	{"close_again", close_again},
	{"close_parks", close_parks},
	{"close_deadline", close_deadline},
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
