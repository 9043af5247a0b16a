/* SPDX-License-Identifier: Apache-2.0
 * priorities.c CASE - a thread waits for a lock whose holder has a lower real-time priority, on one
 * CPU. Link with -Wl,--wrap=nanosleep. Prints what is lost; exit code 77: the system gives this user
 * no such priority. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../case_main.h"
#include "base/short_lock.h"
#include "queue/biased_lock.h"

static wp_short_lock short_lock;
static wp_biased_lock biased_lock;
static wp_atomic(uint32_t) is_held, is_wanted, is_over;

/* On the first CPU that this process may use. */
static void become(int priority)
{
	struct sched_param wanted = {.sched_priority = priority};
	cpu_set_t may, one;
	size_t cpu = 0;

	sched_getaffinity(0, sizeof(may), &may);
	while (!CPU_ISSET(cpu, &may))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (pthread_setaffinity_np(pthread_self(), sizeof(one), &one) != 0 ||
	    pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) != 0)
		_exit(77);
}

/* Until the other thread has begun to wait, and for some time more, so that it is the one that has
 * the CPU. */
static void hold(void)
{
	wp_store_relaxed(&is_held, 1);
	while (wp_load_relaxed(&is_wanted) == 0)
		wp_pause();
	for (int turn = 0; turn < 1000000; turn++)
		wp_pause();
}

static void *holds_short(void *arg)
{
	become(1);
	wp_short_lock_acquire(&short_lock);
	hold();
	wp_short_lock_release(&short_lock);
	return arg;
}

static void *holds_biased(void *arg)
{
	uint64_t my = 0;

	become(1);
	check(wp_biased_lock_try_acquire(&biased_lock, &my), "the lock");
	hold();
	wp_biased_lock_release(&biased_lock, my);
	return arg;
}

static void *wants_short(void *arg)
{
	become(2);
	wp_store_relaxed(&is_wanted, 1);
	wp_short_lock_acquire(&short_lock);
	wp_store_relaxed(&is_over, 1);
	wp_short_lock_release(&short_lock);
	return arg;
}

static void *wants_biased(void *arg)
{
	become(2);
	wp_store_relaxed(&is_wanted, 1);
	wp_biased_lock_release(&biased_lock, wp_biased_lock_acquire(&biased_lock));
	wp_store_relaxed(&is_over, 1);
	return arg;
}

static void run(void *(*holds)(void *), void *(*wants)(void *))
{
	pthread_t holder, waiter;

	pthread_create(&holder, NULL, holds, NULL);
	AWAIT(wp_load_relaxed(&is_held) != 0, "the holder");
	pthread_create(&waiter, NULL, wants, NULL);
	AWAIT(wp_load_relaxed(&is_over) != 0, "the lock for ever");
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
}

/* As if a signal had come. */
int __real_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
	__real_nanosleep(duration, left);
	errno = EINTR;
	return -1;
}

/* A lock may be taken between an error and its report. */
CASE(errno_stays)
{
	errno = ENOENT;
	wp__sleep_a_turn();
	check(errno == ENOENT, "errno");
}

CASE(short_lock)
{
	run(holds_short, wants_short);
}

CASE(biased_lock)
{
	wp_biased_lock_init(&biased_lock);
	run(holds_biased, wants_biased);
}
