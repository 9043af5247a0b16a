/* SPDX-License-Identifier: Apache-2.0
 * pool.c CASE - a pool of threads, from its start to its stop. Prints what is lost.
 *
 * Why it works  The system refuses threads when the case wants it to
 *               (-Wl,--wrap=pthread_create). */
#include <errno.h>

#include "pool_case.h"
#include "../case_main.h"

enum { MANY = 2000 };

static wp_atomic(bool) refuses;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
			  void *arg)
{
	return wp_load_relaxed(&refuses) ? EAGAIN : __real_pthread_create(thread, how, run, arg);
}

/* Threads are started one by one when none is idle, up to the limit; then jobs wait. */
CASE(stairs)
{
	open_pool(2, 4, WP_FOREVER, 0);
	await_threads(2, 2);
	for (uint32_t many = 1; many <= 4; many++) {
		hold(1);
		check(counts().threads == (many < 2 ? 2 : many) && counts().queued == 0, "a stair");
		check(counts().idle == (many < 2 ? 1 : 0), "who is idle");
	}
	check(wp_pool_execute(pool, &one) == WP_OK && wp_pool_execute(pool, &one) == WP_OK, "jobs");
	check(counts().queued == 2 && counts().threads == 4 && wp_pool_is_low(pool),
	      "that jobs wait");
	let_go();
	await(&ran, 6, "that all run");
	await_threads(4, 4);
	check(!wp_pool_is_low(pool) && counts().started == 4, "that four were enough");
	close_pool();
}

/* A queue without a limit; one thread runs the jobs in order. */
static uint32_t next_number; /* plain */
static void in_order(void *arg)
{
	check((uintptr_t)arg == next_number++, "the order");
}

CASE(order)
{
	open_pool(0, 1, WP_FOREVER, -1);
	hold(1);
	for (uintptr_t number = 0; number < MANY; number++)
		wp_pool_execute(pool, &(wp_job){in_order, NULL, (void *)number});
	check(counts().queued == MANY && counts().threads == 1, "a long queue");
	let_go();
	close_pool();
	check(next_number == MANY, "a job");
}

/* The system has no thread: an error, or the queue of a living thread; no more is accepted. */
CASE(refused)
{
	wp_pool_config config = config_of(1, 2, WP_FOREVER, 0);

	open_pool(0, 2, WP_FOREVER, 0);
	wp_store_relaxed(&refuses, true);
	errno = 0;
	check(wp_pool_execute(pool, &one) == WP_SYSTEM && errno == EAGAIN, "the error");
	check(counts().accepted == 0 && counts().threads == 0, "that it is not accepted");
	check(wp_pool_new(&config, &(wp_pool *){NULL}) == WP_SYSTEM, "a pool that cannot begin");
	wp_store_relaxed(&refuses, false);
	hold(1);
	wp_store_relaxed(&refuses, true);
	check(wp_pool_execute(pool, &one) == WP_OK && counts().queued == 1, "that it waits");
	let_go();
	await(&ran, 2, "that both run");
	wp_store_relaxed(&refuses, false);
	check(counts().refused == 2 && counts().started == 1, "what was refused");
	close_pool();
}

/* Running jobs end. Queued jobs are closed when the time is over. Nothing is accepted after
 * that. */
CASE(stop)
{
	open_pool(0, 2, WP_FOREVER, 1);
	hold(2);
	check(wp_pool_execute(pool, &one) == WP_OK && wp_pool_execute(pool, &one) == WP_OK, "jobs");
	check(wp_pool_execute(pool, &(wp_job){runs, NULL, NULL}) == WP_OK, "a job");
	check(wp_pool_stop(pool, 0) == WP_TIMEOUT, "that what runs is not interrupted");
	check(wp_load_acquire(&closed) == 2 && counts().closed == 3,
	      "that what is queued is closed");
	check(wp_pool_execute(pool, &one) == WP_CLOSED && !wp_pool_try_execute(pool, &one),
	      "that nothing is accepted");
	let_go();
	close_pool();
	check(wp_load_relaxed(&ran) == 2, "that what was closed is not run");
}

/* Stopped by a job, which must not wait for itself; stopped by two threads. */
static void stops(void *arg)
{
	check(wp_pool_current() == pool, "which pool it is in");
	check(wp_pool_stop(pool, patience()) == WP_OK, "a stop inside");
	wp_fetch_add_release(&ran, 1);
}

CASE(inside)
{
	open_pool(2, 3, WP_FOREVER, 1);
	hold(1);
	check(wp_pool_execute(pool, &(wp_job){stops, NULL, NULL}) == WP_OK, "a job");
	check(wp_pool_execute(pool, &(wp_job){stops, NULL, NULL}) == WP_OK || counts().is_closed,
	      "another");
	let_go();
	check(wp_pool_current() == NULL, "that the caller is in none");
	await_threads(0, 0);
	close_pool();
}

/* No more than a number of threads leave in a time, and a number of them stays. */
CASE(leaves)
{
	int64_t until_ns, at_ns = wp_clock_ns();
	uint32_t left = 0;

	open_pool(0, 10, 300, 0);
	pool->config.evictions = 3;
	pool->config.min = 2;
	pool->threads = 10; /* it has none */
	pool->left_ns = at_ns - 300;
	for (int64_t now_ns = at_ns; now_ns < at_ns + 300; now_ns++)
		left += wp__pool_may_leave(pool, now_ns, &until_ns);
	check(left == 3, "the pace at which threads leave");
	check(!wp__pool_may_leave(pool, at_ns + 299, &until_ns) && until_ns == at_ns + 300,
	      "when the next may");
	pool->threads = 2;
	check(!wp__pool_may_leave(pool, at_ns + 900, &until_ns) && until_ns == WP_FOREVER,
	      "that so many stay");
	pool->threads = 0;
	close_pool();
}

/* Threads that a few jobs do not need leave, although there always is a job: the thread that rested
 * last is chosen. */
static pthread_t who;
static void asks_who(void *arg)
{
	who = pthread_self();
	runs(arg);
}

CASE(few)
{
	pthread_t first;

	open_pool(0, 4, WP_FOREVER, 0);
	hold(4);
	let_go();
	await_threads(4, 4);
	for (uint32_t many = 0; many < 50; many++) {
		wp_pool_execute(pool, &(wp_job){asks_who, NULL, NULL});
		await(&ran, 5 + many, "that it runs");
		await_threads(4, 4);
		first = many == 0 ? who : first;
		if (!pthread_equal(first, who))
			lost("that the one which rested least is chosen");
	}
	close_pool();
}

CASE(shrinks)
{
	open_pool(1, 4, 20 * MS, 0);
	hold(4);
	let_go();
	for (uint32_t many = 0; counts().threads > 1 && many < 100000; many++) {
		wp_pool_execute(pool, &one);
		await(&ran, 5 + many, "that it runs");
	}
	await_threads(1, 1);
	check(counts().left == 3, "that threads leave under a steady load");
	close_pool();
}
