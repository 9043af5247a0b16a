/* SPDX-License-Identifier: Apache-2.0
 * vthread.c - the cost of a virtual thread: a yield, a park with its unpark, a start with its join,
 * and memory.
 *
 * CPU time of the process. One carrier does everything, except in `vthread_many`, where two
 * share it. The ring is the same switch between two fibers and a private array, with nothing
 * around it. */
#include "thread/fiber.h"
#include "memory.h"
#include "threads.h"

enum { MILLION = 1000000, MANY = 250000, PARKED = 4096, RING = 64, RING_STACK = 65536 };

static wp_vthread *threads[MILLION];
static wp_vthread *left, *right;
static uint64_t turns;
static double bytes_each;
static wp_atomic(uint32_t) parked;

static int starts_both(void *arg)
{
	threads_start(left);
	threads_start(right);
	return arg != NULL;
}

/* Runs both on one carrier, from start to end. Neither runs before both are queued. */
static double both(uint64_t ops, int (*first)(void *), int (*second)(void *))
{
	double begun = carriers_process_ns();
	wp_vthread *starter = threads_new(carriers_of_one(), 0, starts_both, NULL);

	turns = ops;
	left = threads_new(carriers_of_one(), 0, first, NULL);
	right = threads_new(carriers_of_one(), 0, second, NULL);
	threads_start(starter);
	threads_join(starter);
	threads_join(left);
	threads_join(right);
	return carriers_process_ns() - begun;
}

static int yields(void *arg)
{
	for (uint64_t k = 0; k < turns; k += 2)
		wp_vthread_yield();
	return arg != NULL;
}

BENCH_SIDE(yield, both(ops, yields, yields))

static wp_fiber ring_thread, *ring[RING], ring_fibers[2];

static void yields_in_ring(void *arg)
{
	for (;;)
		wp_fiber_switch(arg, &ring_thread, 0);
}

/* Without a scheduler: an array holds the order. */
static double private_ring(uint64_t ops)
{
	static _Alignas(WP_LINE) char stacks[2][RING_STACK];
	double begun;

	wp_fiber_thread(&ring_thread);
	for (int at = 0; at < 2; at++) {
		wp_fiber_init(&ring_fibers[at], stacks[at], RING_STACK, yields_in_ring,
			      &ring_fibers[at]);
		ring[at] = &ring_fibers[at];
	}
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		wp_fiber *next = ring[k % RING];

		wp_fiber_switch(&ring_thread, next, 0);
		ring[(k + 2) % RING] = next;
	}
	return bench_cpu_ns() - begun;
}

/* The limits: nothing but two switches there and back, and as many locked instructions as the kernel
 * has in the same operation. Who counts them steps through one by a debugger. */
enum { LOCKED_TURN = 6, LOCKED_JOIN = 13 };

static wp_atomic(uint64_t) locked_words[4 * 8]; /* four lines */

static inline void locked(int many)
{
	for (int at = 0; at < many; at++)
		wp_fetch_add_acq_rel(&locked_words[at % 4 * 8], 1);
}

static double bare_switches(uint64_t ops, int many)
{
	static _Alignas(WP_LINE) char stack[RING_STACK];
	double begun;

	wp_fiber_thread(&ring_thread);
	wp_fiber_init(&ring_fibers[0], stack, RING_STACK, yields_in_ring, &ring_fibers[0]);
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		locked(many);
		wp_fiber_switch(&ring_thread, &ring_fibers[0], 0);
	}
	return bench_cpu_ns() - begun;
}

BENCH_SIDE(bare_turn, bare_switches(ops, LOCKED_TURN))
BENCH_SIDE(bare_join, bare_switches(ops, LOCKED_JOIN))

static int gives(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_vthread_unpark(right);
		wp_vthread_park_until(WP_FOREVER);
	}
	return arg != NULL;
}

static int gives_back(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_vthread_park_until(WP_FOREVER);
		wp_vthread_unpark(left);
	}
	return arg != NULL;
}

BENCH_SIDE(round_trip, both(ops, gives, gives_back))

static int ends(void *arg)
{
	return arg != NULL;
}

static int joins_each(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		wp_vthread *child = threads_new(carriers_of_one(), 0, ends, NULL);

		threads_start(child);
		threads_join(child);
	}
	return arg != NULL;
}

BENCH_SIDE(one_by_one, both(ops, joins_each, ends))

/* Starts its share of all threads at once. They run when it joins the first. */
static int joins_all(void *arg)
{
	int carrier = arg == &threads[0] ? 0 : 1;
	wp_vthread **mine = arg;

	for (uint64_t k = 0; k < turns; k++) {
		mine[k] = threads_new(carriers_of_two(false), carrier, ends, NULL);
		threads_start(mine[k]);
	}
	for (uint64_t k = 0; k < turns; k++)
		threads_join(mine[k]);
	return 0;
}

static double at_once(uint64_t ops)
{
	uint64_t many = ops < MILLION ? ops + ops % 2 : MILLION;
	wp_group *two = carriers_of_two(false);
	double begun = carriers_process_ns();

	turns = many / 2;
	left = threads_new(two, 0, joins_all, &threads[0]);
	right = threads_new(two, 1, joins_all, &threads[turns]);
	threads_start(left);
	threads_start(right);
	threads_join(left);
	threads_join(right);
	return (carriers_process_ns() - begun) / 2 * (double)ops / (double)many;
}

/* The limit: for each of a million threads, the locked instructions, and its block read when it is
 * made, when it runs and when it is joined. The blocks are where at_once has left them. */
static double bare_at_once(uint64_t ops)
{
	static volatile uint64_t sum;
	double begun;

	if (threads[MILLION - 1] == NULL)
		at_once(MILLION);
	begun = bench_cpu_ns();
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t k = 0; k < MILLION; k++)
			sum += *(volatile uint64_t *)(void *)threads[k];
	for (uint32_t k = 0; k < MILLION; k++)
		locked(LOCKED_JOIN);
	return (bench_cpu_ns() - begun) / 2 * (double)ops / MILLION;
}

static int parks(void *arg)
{
	uint32_t many = *(uint32_t *)arg;

	if (wp_fetch_add_relaxed(&parked, 1) + 1 == many)
		carriers_count(&carriers_ended);
	return wp_vthread_park_until(WP_FOREVER);
}

/* New stacks each time, because the group is freed with them. */
static double start_and_park(uint64_t ops)
{
	uint32_t many = ops < MANY ? (uint32_t)ops : MANY;
	wp_group *group;
	wp_group_config config = {.carriers = 1, .yield_us = 50, .max_stacks = MANY};
	double before_kb = memory_resident_kb(), begun = carriers_process_ns(), ns;

	if (wp_group_new(&group, &config) != WP_OK)
		bench_fail("no group");
	wp_init(&parked, 0);
	wp_init(&carriers_ended, 0);
	for (uint32_t k = 0; k < many; k++) {
		threads[k] = threads_new(group, 0, parks, &many);
		threads_start(threads[k]);
	}
	carriers_await(&carriers_ended, 1);
	ns = carriers_process_ns() - begun;
	bytes_each = (memory_resident_kb() - before_kb) * 1024 / many;
	for (uint32_t k = 0; k < many; k++)
		wp_vthread_unpark(threads[k]);
	for (uint32_t k = 0; k < many; k++)
		threads_join(threads[k]);
	wp_group_close(group, WP_FOREVER, false, NULL, NULL);
	wp_group_free(group);
	return ns * (double)ops / many;
}

static int parks_for_ever(void *arg)
{
	for (uint32_t round = 0; round < *(uint32_t *)arg; round++) {
		if ((wp_fetch_add_relaxed(&parked, 1) + 1) % PARKED == 0)
			carriers_count(&carriers_ended);
		wp_vthread_park_until(WP_FOREVER);
	}
	return 0;
}

/* Unparks all of them in turn, from an outside thread. CPU time of both. */
static double broadcast(uint64_t ops)
{
	uint32_t rounds = (uint32_t)((ops + PARKED - 1) / PARKED) + 1;
	double begun, ns;

	wp_init(&parked, 0);
	wp_init(&carriers_ended, 0);
	for (uint32_t k = 0; k < PARKED; k++) {
		threads[k] = threads_new(carriers_of_one(), 0, parks_for_ever, &rounds);
		threads_start(threads[k]);
	}
	carriers_await(&carriers_ended, 1);
	begun = carriers_process_ns();
	for (uint32_t round = 1; round < rounds; round++) {
		for (uint32_t k = 0; k < PARKED; k++)
			wp_vthread_unpark(threads[k]);
		carriers_await(&carriers_ended, round + 1);
	}
	ns = carriers_process_ns() - begun;
	for (uint32_t k = 0; k < PARKED; k++)
		wp_vthread_unpark(threads[k]);
	for (uint32_t k = 0; k < PARKED; k++)
		threads_join(threads[k]);
	return ns * (double)ops / ((double)(rounds - 1) * PARKED);
}

const bench_row bench_vthread[] = {
	{.name = "vthread_yield", .sides = {{"ours", yield}, {"ring", private_ring}}},
	{.name = "vthread_turns",
	 .sides = {{"ours", round_trip}, {"bare", bare_turn}, {"40ns", .goal_ns = 40}}},
	{.name = "vthread_join",
	 .sides = {{"ours", one_by_one}, {"bare", bare_join}, {"40ns", .goal_ns = 40}}},
	{.name = "vthread_many",
	 .sides = {{"ours", at_once}, {"bare", bare_at_once}, {"100ns", .goal_ns = 100}}},
	{.name = "vthread_wake", .sides = {{"ours", broadcast}, {"150ns", .goal_ns = 150}}},
	{.name = "vthread_memory",
	 .sides = {{"ours", start_and_park}},
	 .counts = {{"bytes", &bytes_each}}},
	{.name = NULL},
};
