/* SPDX-License-Identifier: Apache-2.0
 * condition.c wraps - one thread hands numbers to another by a lock and a condition, whose count of
 * signals passes 2^32 meanwhile. Prints what is lost. */
#include "../case_main.h"

enum { TURNS = 2000, BEFORE = 1000 };

static wp_lock lock;
static wp_cond cond;
static int handed, taken;

static void await(const int *which, int value)
{
	int64_t deadline_ns = patience();

	while (*which != value)
		if (wp_cond_wait(&cond, &lock, deadline_ns) == WP_TIMEOUT)
			lost("a signal");
}

static void *takes(void *arg)
{
	wp_lock_acquire(&lock);
	for (int turn = 1; turn <= TURNS; turn++) {
		await(&handed, turn);
		taken = turn;
		wp_cond_signal(&cond);
	}
	wp_lock_release(&lock);
	return arg;
}

CASE(wraps)
{
	pthread_t taker;

	wp_store_relaxed(&cond.signals, 0u - BEFORE);
	check(pthread_create(&taker, NULL, takes, NULL) == 0, "a thread");
	wp_lock_acquire(&lock);
	for (int turn = 1; turn <= TURNS; turn++) {
		handed = turn;
		wp_cond_signal(&cond);
		await(&taken, turn);
	}
	wp_lock_release(&lock);
	pthread_join(taker, NULL);
	check(wp_load_relaxed(&cond.signals) == 2 * TURNS - BEFORE, "the count of signals");
}
