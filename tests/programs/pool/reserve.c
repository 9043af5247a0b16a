/* SPDX-License-Identifier: Apache-2.0
 * reserve.c CASE - reserved threads of a pool. Prints what is lost.
 *
 * Why it works  The pool is one thread per start. Each task is counted when it is handed over, and
 *               when it runs. */
#include "../case_main.h"
#include "pool/reserve.h"

enum { CAPACITY = 4, TRIERS = 3, TRIES = 4000 };

static wp_reserve reserve;
static wp_reserve_slot slots[CAPACITY];
static wp_atomic(uint32_t) alive, starts, handed, ran, held;
static wp_atomic(bool) is_held, refuses;

static void await_from(wp_atomic(uint32_t) *word, uint32_t least, uint32_t most, const char *what)
{
	int64_t deadline_ns = patience();

	for (uint32_t seen; (seen = wp_load_acquire(word)) < least || seen > most; wp_yield())
		if (wp_clock_ns() > deadline_ns) {
			printf("lost %s: %u for %u to %u\n", what, seen, least, most);
			exit(1);
		}
}

static void await(wp_atomic(uint32_t) *word, uint32_t value, const char *what)
{
	await_from(word, value, value, what);
}

static void await_available(uint32_t many)
{
	int64_t deadline_ns = patience();

	while (wp_reserve_available(&reserve) != many) {
		if (wp_clock_ns() > deadline_ns) {
			printf("lost %u reserved threads, %u are there\n", many,
			       wp_reserve_available(&reserve));
			exit(1);
		}
		wp_yield();
	}
}

static void *member(void *arg)
{
	wp_reserve_run(&reserve);
	wp_fetch_add_release(&alive, (uint32_t)-1);
	return NULL;
}

static int start(void *arg)
{
	pthread_t thread;

	if (wp_load_relaxed(&refuses))
		return WP_CLOSED;
	wp_fetch_add_relaxed(&starts, 1);
	wp_fetch_add_relaxed(&alive, 1);
	if (pthread_create(&thread, NULL, member, NULL) != 0)
		abort();
	pthread_detach(thread);
	return WP_OK;
}

static void run(void *arg, void *task)
{
	++*(uint32_t *)task;
	wp_fetch_add_release(&held, 1);
	while (wp_load_acquire(&is_held))
		wp_yield();
	wp_fetch_add_release(&ran, 1);
}

static void open_reserve(uint32_t least, int64_t idle_ns)
{
	wp_reserve_config config = {.capacity = CAPACITY,
				    .least = least,
				    .idle_ns = idle_ns,
				    .start = start,
				    .run = run};

	check(wp_reserve_init(&reserve, &config, slots) == WP_OK, "a reserve");
}

static void await_end(void)
{
	await(&alive, 0, "the end of its threads");
	check(wp_load_relaxed(&reserve.pending) == 0, "that no start is under way");
}

static void close_reserve(void)
{
	wp_reserve_stop(&reserve);
	await_end();
}

/* No thread at first; each miss starts one; a task that is handed over needs no start; the threads
 * come back. */
CASE(lazy)
{
	uint32_t tasks[3] = {0};

	open_reserve(0, WP_FOREVER);
	check(wp_load_relaxed(&starts) == 0 && wp_reserve_available(&reserve) == 0, "laziness");
	check(!wp_reserve_try(&reserve, &tasks[0]), "a miss");
	await_available(1);
	wp_store_release(&is_held, true);
	check(wp_reserve_try(&reserve, &tasks[0]), "a task handed over");
	await(&held, 1, "that it runs");
	check(!wp_reserve_try(&reserve, &tasks[1]), "a miss");
	await_available(1);
	check(wp_reserve_try(&reserve, &tasks[1]), "a task handed over");
	await(&held, 2, "that both run");
	check(wp_load_relaxed(&starts) == 2 && wp_reserve_available(&reserve) == 0,
	      "that a task which was handed over starts nobody");
	wp_store_release(&is_held, false);
	await_available(2);
	check(tasks[0] == 1 && tasks[1] == 1 && tasks[2] == 0, "that each ran once");
	close_reserve();
}

/* Threads that are idle for long leave, down to the minimum, or below it: two may leave at once. */
CASE(shrinks)
{
	uint32_t tasks[CAPACITY] = {0};

	open_reserve(1, 20000000);
	for (uint32_t many = 1; many <= CAPACITY; many++) {
		wp_store_release(&is_held, true);
		while (wp_load_acquire(&held) < many)
			if (!wp_reserve_try(&reserve, &tasks[many - 1]))
				wp_yield();
			else
				await(&held, many, "that it runs");
	}
	wp_store_release(&is_held, false);
	await_from(&alive, 0, 1, "that all but one leave");
	close_reserve();
}

CASE(refused)
{
	uint32_t task = 0;

	open_reserve(0, WP_FOREVER);
	wp_store_relaxed(&refuses, true);
	for (int tries = 0; tries < 10; tries++)
		check(!wp_reserve_try(&reserve, &task), "a miss");
	check(wp_load_relaxed(&reserve.pending) == 0, "that what was refused is not under way");
	wp_store_relaxed(&refuses, false);
	check(!wp_reserve_try(&reserve, &task), "a miss");
	await_available(1);
	check(wp_reserve_init(&(wp_reserve){0}, &(wp_reserve_config){.least = 1}, slots) ==
		      WP_MISUSED,
	      "that the least is at most the capacity");
	close_reserve();
}

static void *tries(void *arg)
{
	uint32_t *tasks = arg;

	for (int at = 0; at < TRIES; at++)
		if (wp_reserve_try(&reserve, &tasks[at]))
			wp_fetch_add_relaxed(&handed, 1);
		else
			wp_yield();
	return NULL;
}

/* Many threads try, threads time out, and the reserve is stopped meanwhile. Every task that was
 * handed over has run. */
CASE(storm)
{
	static uint32_t tasks[TRIERS][TRIES];
	pthread_t threads[TRIERS];

	open_reserve(1, 50000);
	for (int at = 0; at < TRIERS; at++)
		if (pthread_create(&threads[at], NULL, tries, tasks[at]) != 0)
			abort();
	pthread_join(threads[0], NULL);
	wp_reserve_stop(&reserve);
	for (int at = 1; at < TRIERS; at++)
		pthread_join(threads[at], NULL);
	await_end();
	check(wp_load_relaxed(&handed) > 0, "that anything was handed over");
	check(wp_load_relaxed(&handed) == wp_load_relaxed(&ran), "a task that was handed over");
	for (int at = 0; at < TRIERS * TRIES; at++)
		check(tasks[at / TRIES][at % TRIES] <= 1, "that a task runs once");
}
