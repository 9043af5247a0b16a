/* SPDX-License-Identifier: Apache-2.0
 * sync.c SECONDS SEED - mutex, condition, semaphore, channel and latch between virtual threads and
 * OS threads, in pinned sections too, with time-outs, interrupts and unrelated unparks. Prints what
 * is lost; otherwise counts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sync/channel.h"
#include "../chance.h"
#include "sync/condition.h"
#include "thread/latch.h"
#include "sync/semaphore.h"
#include "sched/vthread_start.h"

#ifndef PATIENCE_S
#define PATIENCE_S 60
#endif
enum {
	CARRIERS = 2,
	VIRTUALS = 12,
	OS_THREADS = 3,
	THREADS = VIRTUALS + OS_THREADS,
	SLOTS = 2,
	PERMITS = 3,
	TURNS = 40,
	KINDS = 5
};
#define US 1000ll

static struct {
	wp_mutex mutex, baton_lock;
	wp_condition filled;
	wp_semaphore semaphore;
	wp_channel channel;
	wp_latch start;
	void *slots[SLOTS];
	uint64_t holds, batons; /* plain: under mutex, baton_lock */
	wp_atomic(uint32_t) inside, sent, received;
	wp_atomic(uint64_t) did;
	wp_atomic(uint32_t) lost, pinned;
} all;

struct one {
	uint64_t random;
	uint64_t holds;
	wp_latch done;
	wp_vthread *thread;
	pthread_t os;
};

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	if (wp_exchange_acq_rel(&all.lost, 1) == 0)
		printf("lost %s\n", what);
}

/* None, already over, or soon. */
static int64_t some_deadline(struct one *one)
{
	switch (draw(&one->random, 4)) {
	case 0:
		return 1;
	case 1:
		return wp_clock_ns() + (int64_t)draw(&one->random, 50) * US;
	default:
		return WP_FOREVER;
	}
}

/* An interrupted thread goes on. */
static int clear(int rc)
{
	if (rc == WP_INTERRUPTED)
		wp_vthread_clear_interrupt();
	return rc;
}

static void hold(struct one *one)
{
	int rc = WP_OK;

	if (draw(&one->random, 2))
		wp_mutex_lock(&all.mutex);
	else
		rc = clear(wp_mutex_lock_until(&all.mutex, some_deadline(one)));
	if (rc != WP_OK)
		return;
	all.holds++;
	if (draw(&one->random, 4) == 0)
		wp_vthread_yield(); /* behind a pinned thread that wants the mutex */
	one->holds++;
	check(wp_mutex_unlock(&all.mutex) == WP_OK, "a mutex");
}

static void use_permits(struct one *one)
{
	uint32_t n = 1 + draw(&one->random, PERMITS);

	if (clear(wp_semaphore_acquire_until(&all.semaphore, n, some_deadline(one))) != WP_OK)
		return;
	check(wp_fetch_add_relaxed(&all.inside, n) + n <= PERMITS, "count of permits");
	wp_fetch_add_relaxed(&all.inside, -n);
	check(wp_semaphore_release(&all.semaphore, n) == WP_OK, "a permit");
}

/* An item is a number that is due once. */
static void send(struct one *one)
{
	uint32_t item = 1 + draw(&one->random, 1000);
	int rc = clear(wp_channel_send_until(&all.channel, (void *)(uintptr_t)item,
					     wp_clock_ns() + 100 * US));

	if (rc == WP_OK)
		wp_fetch_add_relaxed(&all.sent, item);
}

static void receive(struct one *one)
{
	void *item;
	int64_t deadline_ns = some_deadline(one);

	if (deadline_ns == WP_FOREVER)
		deadline_ns = wp_clock_ns() + 200 * US;
	if (clear(wp_channel_receive_until(&all.channel, &item, deadline_ns)) == WP_OK)
		wp_fetch_add_relaxed(&all.received, (uint32_t)(uintptr_t)item);
}

/* Gives a baton, or takes one; takers wait as long as there is none. */
static void pass_baton(struct one *one)
{
	bool gives = draw(&one->random, 2);

	wp_mutex_lock(&all.baton_lock);
	if (gives) {
		all.batons++;
		if (draw(&one->random, 4) == 0)
			wp_condition_broadcast(&all.filled);
		else
			wp_condition_signal(&all.filled);
	}
	while (!gives && all.batons == 0)
		if (clear(wp_condition_wait_until(&all.filled, &all.baton_lock,
						  wp_clock_ns() + 100 * US)) != WP_OK)
			break;
	if (!gives && all.batons > 0)
		all.batons--;
	check(wp_mutex_unlock(&all.baton_lock) == WP_OK, "the mutex of a condition");
}

static void plain(struct one *one, void (*kind)(struct one *))
{
	kind(one);
}

/* With its carrier: one at a time, so that the other carrier is left for the thread that must come
 * first. */
static void pinned(struct one *one, void (*kind)(struct one *))
{
	if (wp_exchange_acq_rel(&all.pinned, 1) != 0) {
		kind(one);
		return;
	}
	wp_vthread_pin();
	kind(one);
	wp_vthread_unpin();
	wp_exchange_acq_rel(&all.pinned, 0);
}

static int work(void *arg)
{
	static void (*const kinds[KINDS])(struct one *) = {hold, use_permits, send, receive,
							   pass_baton};
	struct one *one = arg;

	while (wp_latch_wait_until(&all.start, WP_FOREVER) == WP_INTERRUPTED)
		wp_vthread_clear_interrupt();
	for (int turn = 0; turn < TURNS; turn++)
		(draw(&one->random, 8) == 0 ? pinned : plain)(one,
							      kinds[draw(&one->random, KINDS)]);
	wp_fetch_add_relaxed(&all.did, TURNS);
	wp_latch_open(&one->done);
	return 0;
}

static void *work_os(void *arg)
{
	work(arg);
	return NULL;
}

static void begin(struct one *ones, uint64_t *random, wp_group *group)
{
	wp_mutex_init(&all.mutex);
	wp_mutex_init(&all.baton_lock);
	wp_condition_init(&all.filled);
	wp_semaphore_init(&all.semaphore, PERMITS);
	wp_channel_init(&all.channel, all.slots, draw(random, SLOTS + 1));
	wp_latch_init(&all.start);
	for (int i = 0; i < THREADS; i++) {
		wp_vthread_config config = {
			.run = work, .arg = &ones[i], .carrier = WP_VTHREAD_HERE};

		ones[i] = (struct one){.random = 1 + draw(random, UINT32_MAX)};
		if (i >= VIRTUALS)
			check(pthread_create(&ones[i].os, NULL, work_os, &ones[i]) == 0,
			      "an OS thread");
		else
			check(wp_vthread_new(group, &config, &ones[i].thread) == WP_OK &&
				      wp_vthread_start(ones[i].thread) == WP_OK,
			      "a virtual thread");
	}
}

static void disturb(struct one *ones, uint64_t *random)
{
	for (int i = 0; i < 4 * VIRTUALS; i++) {
		wp_vthread *thread = ones[draw(random, VIRTUALS)].thread;

		if (draw(random, 2))
			wp_vthread_unpark(thread);
		else
			wp_vthread_interrupt(thread);
	}
}

static bool end(struct one *ones)
{
	int64_t deadline_ns = wp_clock_ns() + PATIENCE_S * 1000000 * US;
	uint64_t holds = 0;

	for (int i = 0; i < THREADS; i++) {
		int failure;

		if (wp_latch_wait_until(&ones[i].done, deadline_ns) != WP_OK) {
			check(false, i < VIRTUALS ? "a virtual thread: it hangs"
						  : "an OS thread: it hangs");
			return false;
		}
		if (i >= VIRTUALS) {
			pthread_join(ones[i].os, NULL);
		} else {
			check(wp_vthread_join(ones[i].thread, WP_FOREVER, &failure) == WP_OK,
			      "a join");
			wp_vthread_free(ones[i].thread);
		}
		holds += ones[i].holds;
	}
	check(holds == all.holds, "a hold: two at once");
	check(wp_semaphore_permits(&all.semaphore) == PERMITS, "a permit at the end");
	return true;
}

/* The items that are in the slots at the end were sent and not received. */
static void drain(void)
{
	void *item;

	wp_channel_close(&all.channel);
	while (wp_channel_try_receive(&all.channel, &item) == WP_OK)
		wp_fetch_add_relaxed(&all.received, (uint32_t)(uintptr_t)item);
	check(wp_channel_try_receive(&all.channel, &item) == WP_CLOSED, "a close");
	check(wp_load_relaxed(&all.sent) == wp_load_relaxed(&all.received), "an item");
}

int main(int argc, char **argv)
{
	int64_t until_ns = wp_clock_ns() + (int64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	uint64_t random;
	wp_group_config config = {.carriers = CARRIERS, .yield_us = 50, .work_stealing = true};
	uint64_t rounds = 0;
	wp_group *group;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	random = seed + 1;
	check(wp_group_new(&group, &config) == WP_OK, "a group");
	do {
		struct one ones[THREADS];

		all.holds = 0;
		begin(ones, &random, group);
		disturb(ones, &random);
		wp_latch_open(&all.start);
		disturb(ones, &random);
		if (!end(ones))
			exit(1);
		drain();
		rounds++;
	} while (wp_clock_ns() < until_ns && !wp_load_relaxed(&all.lost));
	wp_group_close(group, WP_FOREVER, false, NULL, NULL);
	wp_group_free(group);
	if (!wp_load_relaxed(&all.lost))
		printf("rounds %llu, turns %llu\n", (unsigned long long)rounds,
		       (unsigned long long)wp_load_relaxed(&all.did));
	return wp_load_relaxed(&all.lost) != 0;
}
