/* SPDX-License-Identifier: Apache-2.0
 * pool_more.c CASE - the promises of a pool beyond its queue, one by one and all at once. Prints
 * what is lost. */
#include "pool_case.h"
#include "../case_main.h"

enum { USERS = 3, TRIES = 3000 };

static const char *dumped(void)
{
	static char text[4096];

	check(wp_pool_dump(pool, text, sizeof(text)) == strlen(text), "the length of a dump");
	check(wp_pool_dump(pool, NULL, 0) > 0, "how long a dump would be");
	return text;
}

static void await_text(const char *what)
{
	AWAIT(strstr(dumped(), what) != NULL, what);
}

/* No reserved thread at first; each miss starts one; a hit has its thread at once, and queues
 * nothing. */
CASE(reserved)
{
	open_pool(0, 6, WP_FOREVER, 2);
	check(counts().threads == 0 && counts().max_leased == 2, "laziness");
	check(!wp_pool_try_execute(pool, &one), "a miss");
	await_reserved(1);
	await_text("RESERVED");
	wp_store_release(&is_held, true);
	check(wp_pool_try_execute(pool, &holding), "a hit");
	await(&begun, 1, "that it runs");
	check(!wp_pool_try_execute(pool, &one), "a miss");
	await_reserved(1);
	check(wp_pool_try_execute(pool, &holding), "a hit");
	await(&begun, 2, "that both run");
	check(counts().threads == 2 && counts().queued == 0 && counts().started == 2,
	      "that a hit starts nobody");
	let_go();
	await_reserved(2);
	check(wp_load_acquire(&ran) == 2, "that each ran once");
	wp_pool_close(pool);
	check(!wp_pool_try_execute(pool, &one), "that a closed pool takes nothing");
	close_pool();
}

/* A start that is queued when the stop comes is no longer under way. */
CASE(dropped)
{
	open_pool(0, 2, WP_FOREVER, 1);
	hold(2);
	check(!wp_pool_try_execute(pool, &one) && counts().queued == 1, "a start that waits");
	check(wp_pool_stop(pool, 0) == WP_TIMEOUT, "that what runs is not interrupted");
	check(wp_load_relaxed(&pool->reserve.pending) == 0,
	      "that a dropped start is not under way");
	let_go();
	close_pool();
}

static int executes(void *arg, const wp_job *job)
{
	job->run(job->arg);
	return WP_OK;
}

CASE(virtual)
{
	wp_pool_config config = config_of(0, 20, WP_FOREVER, -1);

	open_pool(0, 20, WP_FOREVER, -1);
	check(pool->reserve.config.capacity > 0 && !wp_pool_has_virtual(pool), "reserved threads");
	check(wp_pool_execute_virtual(pool, &one) == WP_OK, "a job");
	await(&ran, 1, "that its threads have it");
	close_pool();
	wp_store_relaxed(&begins, 0);
	wp_store_relaxed(&ends, 0);
	config.execute_virtual = executes;
	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
	check(pool->reserve.config.capacity == 0 && wp_pool_has_virtual(pool),
	      "no reserved threads");
	for (int tries = 0; tries < 100; tries++)
		check(!wp_pool_try_execute(pool, &one), "that there are none");
	check(wp_pool_execute_virtual(pool, &one) == WP_OK && wp_load_relaxed(&ran) == 2 &&
		      counts().started == 0,
	      "that the other executor has it");
	close_pool();
}

CASE(budget)
{
	wp_pool_config config = config_of(0, 4, WP_FOREVER, 4);

	check(wp_pool_new(&config, &pool) == WP_MISUSED, "that one thread is not reserved");
	config = config_of(5, 4, WP_FOREVER, 0);
	check(wp_pool_new(&config, &pool) == WP_MISUSED, "that min is at most max");
	open_pool(0, 4, WP_FOREVER, 1);
	check(wp_pool_lease(pool, 3) == WP_MISUSED && wp_pool_lease(pool, 2) == WP_OK, "a lease");
	check(wp_pool_lease(pool, 1) == WP_MISUSED, "that one thread is not leased");
	hold(3);
	check(counts().leased == 2 && counts().utilized == 1 && counts().max_leased == 3, "leases");
	check(wp_pool_is_low(pool), "that threads are few");
	check(wp_pool_unlease(pool, 3) == WP_MISUSED && wp_pool_unlease(pool, 2) == WP_OK,
	      "that it is given back");
	check(counts().utilized == 3, "what is used");
	let_go();
	await_threads(3, 3);
	check(!wp_pool_is_low(pool), "that threads are free");
	close_pool();
}

CASE(dump)
{
	static const wp_job tagged = {holds, NULL, "SELECTING"};
	char text[8];

	open_pool(2, 3, WP_FOREVER, 0);
	await_text("IDLE");
	hold(1);
	await_text("BUSY");
	check(wp_pool_execute(pool, &tagged) == WP_OK, "a job");
	await_text("SELECTING");
	check(wp_pool_execute(pool, &holding) == WP_OK && wp_pool_execute(pool, &one) == WP_OK,
	      "jobs");
	await_text("pool: 3 threads (2 to 3), 0 idle, 0 reserved of 0, 0 leased, 1 queued, low\n");
	check(wp_pool_dump(pool, text, sizeof(text)) > sizeof(text) && strcmp(text, "pool: 3") == 0,
	      "that a dump is cut");
	let_go();
	await_threads(3, 3);
	check(strstr(dumped(), "SELECTING") == NULL, "that a tag ends with its job");
	close_pool();
}

/* How often each job was run or closed. */
static wp_atomic(uint32_t) fates[USERS][TRIES];
static wp_job jobs[USERS][TRIES];
static wp_atomic(uint32_t) accepted;

static void has_fate(void *arg)
{
	wp_fetch_add_relaxed((wp_atomic(uint32_t) *)arg, 1);
}

static void *uses(void *arg)
{
	size_t user = (size_t)(uintptr_t)arg;

	for (size_t at = 0; at < TRIES; at++) {
		wp_job *job = &jobs[user][at];

		*job = (wp_job){has_fate, has_fate, (void *)&fates[user][at]};
		if (at % 3 == 0 ? wp_pool_try_execute(pool, job)
				: wp_pool_execute(pool, job) == WP_OK)
			wp_fetch_add_relaxed(&accepted, 1);
		else if (at % 3 == 0)
			wp_yield();
	}
	return NULL;
}

/* Many threads submit jobs, threads come and go, and a stop comes meanwhile. Each accepted job is
 * run or closed. */
CASE(storm)
{
	pthread_t users[USERS];
	uint32_t seen = 0;

	open_pool(0, 6, 20000, 2);
	for (size_t user = 0; user < USERS; user++)
		if (pthread_create(&users[user], NULL, uses, (void *)(uintptr_t)user) != 0)
			abort();
	pthread_join(users[0], NULL);
	check(wp_pool_stop(pool, patience()) == WP_OK, "the stop");
	for (size_t user = 1; user < USERS; user++)
		pthread_join(users[user], NULL);
	for (size_t at = 0; at < USERS * TRIES; at++) {
		uint32_t fate = wp_load_relaxed(&fates[at / TRIES][at % TRIES]);

		check(fate <= 1, "that a job has one fate");
		seen += fate;
	}
	check(seen == wp_load_relaxed(&accepted) && seen >= TRIES / 2, "a job that was accepted");
	close_pool();
}
