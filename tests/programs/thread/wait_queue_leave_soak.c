/* SPDX-License-Identifier: Apache-2.0
 * wait_queue_leave_soak.c SECONDS SEED - groups come, are closed at any time, and are freed at
 * once, while their threads stand in the queues of objects that outlive them, together with OS
 * threads. Prints what is lost; otherwise counts.
 *
 *   OS threads, for ever             virtual threads, until they are handed back
 *   lock; unlock                     the same; they hold nothing where they park
 *   acquire; release                 the same
 *   send, and count what was sent    receive, and count
 *   one baton at a time: signal      take a baton, if there is one
 *
 * Why it works  A thread that holds nothing where it parks takes nothing with it. So all permits,
 *               items and batons are there at the end, and no OS thread waits longer than the
 *               patience.
 * Spec          specs/thread/WaitQueueLeave.tla. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sync/channel.h"
#include "../chance.h"
#include "sync/condition.h"
#include "thread/latch.h"
#include "sync/semaphore.h"
#include "sched/vthread_start.h"

#ifndef PATIENCE_S
#define PATIENCE_S 60
#endif
enum { VIRTUALS = 12, PERMITS = 3, SLOTS = 2, OS_THREADS = 4, KINDS = 4 };

static struct {
	wp_mutex mutex, baton_lock;
	wp_condition filled;
	wp_semaphore semaphore;
	wp_channel channel;
	void *slots[SLOTS];
	uint64_t holds;  /* plain: under the mutex */
	uint32_t batons; /* plain: under baton_lock */
	wp_atomic(uint32_t) is_over, is_lost;
	wp_atomic(uint64_t) sent, received, held, back, ended;
} all;

static void check(bool holds, const char *what)
{
	if (holds || wp_exchange_acq_rel(&all.is_lost, 1) != 0)
		return;
	printf("lost %s, seed %llu\n", what, (unsigned long long)seed);
	fflush(stdout);
	_exit(1);
}

static int64_t patience(void)
{
	return wp_clock_ns() + PATIENCE_S * 1000000000ll;
}

static void hold(void)
{
	check(wp_mutex_lock_until(&all.mutex, patience()) == WP_OK, "a mutex");
	all.holds++;
	wp_fetch_add_relaxed(&all.held, 1);
	check(wp_mutex_unlock(&all.mutex) == WP_OK, "an unlock");
}

static void use_permits(uint64_t *random)
{
	uint32_t n = 1 + draw(random, PERMITS);

	check(wp_semaphore_acquire_until(&all.semaphore, n, patience()) == WP_OK, "a permit");
	check(wp_semaphore_release(&all.semaphore, n) == WP_OK, "a release");
}

static void receive(int64_t deadline_ns)
{
	void *item;

	if (wp_channel_receive_until(&all.channel, &item, deadline_ns) == WP_OK)
		wp_fetch_add_relaxed(&all.received, (uint32_t)(uintptr_t)item);
}

static void send(uint64_t *random)
{
	uint32_t item = 1 + draw(random, 1000);

	if (wp_channel_send_until(&all.channel, (void *)(uintptr_t)item, wp_clock_ns() + 1000000) ==
	    WP_OK)
		wp_fetch_add_relaxed(&all.sent, item);
}

static void lock_batons(void)
{
	check(wp_mutex_lock_until(&all.baton_lock, patience()) == WP_OK,
	      "the mutex of a condition");
}

/* One baton at a time, and one signal for it: a waiting OS thread gets it, or sees it. */
static void give_baton(void)
{
	lock_batons();
	if (all.batons == 0) {
		all.batons = 1;
		wp_condition_signal(&all.filled);
	}
	wp_mutex_unlock(&all.baton_lock);
}

static void take_baton(void)
{
	lock_batons();
	while (all.batons == 0 && wp_load_relaxed(&all.is_over) == 0)
		check(wp_condition_wait_until(&all.filled, &all.baton_lock, patience()) == WP_OK,
		      "a signal");
	all.batons = 0;
	wp_mutex_unlock(&all.baton_lock);
}

static int live(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg;

	for (int turn = (int)draw(&random, 64); turn >= 0; turn--) {
		switch (draw(&random, KINDS)) {
		case 0:
			hold();
			break;
		case 1:
			use_permits(&random);
			break;
		case 2:
			receive(draw(&random, 2) ? WP_FOREVER : wp_clock_ns() + 1000000);
			break;
		default:
			take_baton();
			break;
		}
	}
	wp_fetch_add_relaxed(&all.ended, 1);
	return 0;
}

static void *serve(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg;

	while (wp_load_relaxed(&all.is_over) == 0) {
		hold();
		use_permits(&random);
		send(&random);
		give_baton();
	}
	return NULL;
}

/* Waits where the virtual threads do, behind them. */
static void *compete(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg;

	while (wp_load_relaxed(&all.is_over) == 0) {
		hold();
		use_permits(&random);
		take_baton();
	}
	return NULL;
}

static void count_back(void *arg, wp_task *task, bool was_parked)
{
	wp_fetch_add_relaxed(&all.back, 1);
}

/* One group, from its start to its free. */
static void one_group(uint64_t *random)
{
	wp_group_config config = {
		.carriers = 1 + draw(random, 2), .yield_us = 50, .work_stealing = draw(random, 2)};
	wp_vthread *threads[VIRTUALS];
	wp_group *group;

	check(wp_group_new(&group, &config) == WP_OK, "a group");
	for (int at = 0; at < VIRTUALS; at++) {
		wp_vthread_config one = {.run = live,
					 .carrier = WP_VTHREAD_HERE,
					 .arg = (void *)(uintptr_t)(1 + draw(random, UINT32_MAX))};

		check(wp_vthread_new(group, &one, &threads[at]) == WP_OK &&
			      wp_vthread_start(threads[at]) == WP_OK,
		      "a thread");
	}
	for (uint32_t turn = draw(random, 40); turn > 0; turn--) {
		wp_vthread_unpark(
			threads[draw(random, VIRTUALS)]); /* it looks before it is woken */
		if (draw(random, 8) == 0)
			nanosleep(&(struct timespec){0, 50000}, NULL);
	}
	check(wp_group_close(group, draw(random, 2) ? wp_clock_ns() + 200000 : 0, true, count_back,
			     NULL) == WP_OK,
	      "a close");
	for (int at = 0; at < VIRTUALS; at++)
		wp_vthread_free(threads[at]);
	wp_group_free(group);
}

int main(int argc, char **argv)
{
	int64_t until_ns = wp_clock_ns() + (int64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	pthread_t outside[OS_THREADS];
	uint64_t random, groups = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	random = seed + 1;
	wp_mutex_init(&all.mutex);
	wp_mutex_init(&all.baton_lock);
	wp_condition_init(&all.filled);
	wp_semaphore_init(&all.semaphore, PERMITS);
	wp_channel_init(&all.channel, all.slots, draw(&random, SLOTS + 1));
	for (int at = 0; at < OS_THREADS; at++)
		pthread_create(&outside[at], NULL, at % 2 == 0 ? serve : compete,
			       (void *)(uintptr_t)(1 + draw(&random, UINT32_MAX)));
	do {
		one_group(&random);
		groups++;
	} while (wp_clock_ns() < until_ns);
	wp_store_relaxed(&all.is_over, 1);
	wp_mutex_lock(&all.baton_lock);
	wp_condition_broadcast(&all.filled);
	wp_mutex_unlock(&all.baton_lock);
	for (int at = 0; at < OS_THREADS; at++)
		pthread_join(outside[at], NULL);
	while (wp_channel_count(&all.channel) != 0)
		receive(0);
	wp_channel_fini(&all.channel);
	check(wp_semaphore_permits(&all.semaphore) == PERMITS, "a permit at the end");
	check(wp_mutex_try_lock(&all.mutex) && all.holds == wp_load_relaxed(&all.held), "a hold");
	check(wp_mutex_try_lock(&all.baton_lock), "the mutex of a condition");
	check(wp_load_relaxed(&all.sent) == wp_load_relaxed(&all.received), "an item");
	printf("groups %llu, back %llu, ended %llu, received %llu\n", (unsigned long long)groups,
	       (unsigned long long)wp_load_relaxed(&all.back),
	       (unsigned long long)wp_load_relaxed(&all.ended),
	       (unsigned long long)wp_load_relaxed(&all.received));
	return 0;
}
