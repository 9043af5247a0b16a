/* SPDX-License-Identifier: Apache-2.0
 * sync.c - the cost of a hand-over through a channel, and of a lock with its unlock.
 *
 *   channel_hand     one item, no slots, both threads on one carrier
 *   channel_slots    the same with 64 slots
 *   channel_far      64 slots, two carriers, with stealing; apart: without
 *   mutex_free       no other thread wants it
 *   mutex_one        64 threads of one carrier; each yields while it holds the mutex
 *   mutex_two        64 threads of two carriers, which count while they hold it; as channel_far
 *
 * CPU time of the process, in which carriers that sleep cost nothing. */
#include "sync/channel.h"
#include "sync/mutex.h"
#include "threads.h"

enum { SLOTS = 64, MANY = 64, HOLD = 16 };

static void *slots[SLOTS];
static wp_channel channel;
static wp_mutex mutex;
static uint64_t turns, held;

static int sends(void *arg)
{
	for (uint64_t k = 0; k < turns; k++)
		if (wp_channel_send_until(&channel, &channel, WP_FOREVER) != WP_OK)
			bench_fail("a send failed");
	return arg != NULL;
}

static int receives(void *arg)
{
	void *item;

	for (uint64_t k = 0; k < turns; k++)
		if (wp_channel_receive_until(&channel, &item, WP_FOREVER) != WP_OK)
			bench_fail("a receive failed");
	return arg != NULL;
}

static double pass(wp_group *group, int receiver, uint32_t capacity, uint64_t ops)
{
	double begun = carriers_process_ns();
	wp_vthread *left, *right;

	turns = ops;
	wp_channel_init(&channel, slots, capacity);
	right = threads_new(group, receiver, receives, NULL);
	left = threads_new(group, 0, sends, NULL);
	threads_start(right);
	threads_start(left);
	threads_join(left);
	threads_join(right);
	return carriers_process_ns() - begun;
}

BENCH_SIDE(hand, pass(carriers_of_one(), 0, 0, ops))
BENCH_SIDE(with_slots, pass(carriers_of_one(), 0, SLOTS, ops))
BENCH_SIDE(far, pass(carriers_of_two(true), 1, SLOTS, ops))
BENCH_SIDE(far_apart, pass(carriers_of_two(false), 1, SLOTS, ops))

static int locks(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_mutex_lock(&mutex);
		held++;
		wp_mutex_unlock(&mutex);
	}
	return arg != NULL;
}

/* Limit: what takes any lock that other threads may want, and gives it back. */
static int locked_twice(void *arg)
{
	static wp_atomic(uint32_t) word;

	for (uint64_t k = 0; k < turns; k++) {
		uint32_t free = 0, taken = 1;

		if (!wp_cas_acquire(&word, &free, 1))
			bench_fail("another thread has the word");
		held++;
		if (!wp_cas_release(&word, &taken, 0))
			bench_fail("another thread has changed the word");
	}
	return arg != NULL;
}

static int locks_and_yields(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_mutex_lock(&mutex);
		held++;
		wp_vthread_yield();
		wp_mutex_unlock(&mutex);
	}
	return arg != NULL;
}

static int locks_and_counts(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_mutex_lock(&mutex);
		held++;
		for (int at = 0; at < HOLD; at++)
			bench_apart();
		wp_mutex_unlock(&mutex);
	}
	return arg != NULL;
}

/* The same work by `many` threads, in turn on `carriers`. */
static double contend(wp_group *group, int carriers, int many, int (*run)(void *), uint64_t ops)
{
	wp_vthread *threads[MANY];
	double begun = carriers_process_ns();

	turns = (ops + (uint64_t)many - 1) / (uint64_t)many;
	held = 0;
	wp_mutex_init(&mutex);
	for (int k = 0; k < many; k++)
		threads[k] = threads_new(group, k % carriers, run, NULL);
	for (int k = 0; k < many; k++)
		threads_start(threads[k]);
	for (int k = 0; k < many; k++)
		threads_join(threads[k]);
	if (held != turns * (uint64_t)many)
		bench_fail("two threads had the mutex");
	return (carriers_process_ns() - begun) * (double)ops / (double)(turns * (uint64_t)many);
}

BENCH_SIDE(nobody_else, contend(carriers_of_one(), 1, 1, locks, ops))
BENCH_SIDE(limit, contend(carriers_of_one(), 1, 1, locked_twice, ops))
BENCH_SIDE(on_one, contend(carriers_of_one(), 1, MANY, locks_and_yields, ops))
BENCH_SIDE(on_two, contend(carriers_of_two(true), 2, MANY, locks_and_counts, ops))
BENCH_SIDE(on_two_apart, contend(carriers_of_two(false), 2, MANY, locks_and_counts, ops))

const bench_row bench_sync[] = {
	{.name = "channel_hand", .sides = {{"ours", hand}}},
	{.name = "channel_slots", .sides = {{"ours", with_slots}}},
	{.name = "channel_far", .sides = {{"ours", far}, {"apart", far_apart}}},
	{.name = "mutex_free", .sides = {{"ours", nobody_else}, {"locked", limit}}},
	{.name = "mutex_one", .sides = {{"ours", on_one}}},
	{.name = "mutex_two", .sides = {{"ours", on_two}, {"apart", on_two_apart}}},
	{.name = NULL},
};
