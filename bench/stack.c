/* SPDX-License-Identifier: Apache-2.0
 * stack.c - stacks are taken and given back, and made; control blocks are read in random order. */
#define _GNU_SOURCE
#include "bench.h"

#include <sys/mman.h>

#include "thread/stack.h"

enum { MANY = 100000, MOST = 1 << 18, CONTROL = 192, BYTES = WP_STACK_BYTES, HELD = 2 };
enum { SLOT = WP_STACK_GUARD_BYTES + BYTES - 4096 }; /* a page of the guard is the stack's */

static wp_stacks *open_pool(uint32_t colours, uint32_t stacks)
{
	wp_stacks_config config = {
		.control_bytes = CONTROL, .max_stacks = stacks, .colours = colours};
	wp_stacks *pool;

	if (wp_stacks_new(&pool, &config) != 0)
		bench_fail("no stacks");
	return pool;
}

static double take_and_give(uint64_t ops)
{
	wp_stacks *pool = open_pool(0, HELD);
	static wp_stack_cache cache;
	wp_stack *stack = wp_stacks_take(pool, &cache);
	double start;

	wp_stacks_give(pool, &cache, stack);
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		stack = wp_stacks_take(pool, &cache);
		bench_apart();
		wp_stacks_give(pool, &cache, stack);
	}
	start = bench_cpu_ns() - start;
	wp_stack_cache_empty(pool, &cache);
	wp_stacks_free(pool);
	return start;
}

/* Maps a new stack each time, with a guard, and uses one page of it. */
static double map_and_unmap(uint64_t ops)
{
	double start = bench_cpu_ns();

	for (uint64_t k = 0; k < ops; k++) {
		char *low = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

		if (low == MAP_FAILED || mprotect(low, 4096, PROT_NONE) != 0)
			bench_fail("no memory");
		*(volatile char *)(low + BYTES - 1) = 1;
		munmap(low, BYTES);
	}
	return bench_cpu_ns() - start;
}

static double make(uint64_t ops)
{
	uint32_t many = ops < MOST ? (uint32_t)ops : MOST;
	wp_stacks *pool = open_pool(0, many);
	double start = bench_cpu_ns(), ns;

	for (uint32_t k = 0; k < many; k++)
		if (wp_stacks_take(pool, NULL) == NULL)
			bench_fail("no stack");
	ns = bench_cpu_ns() - start;
	wp_stacks_free(pool);
	return ns * (double)ops / many;
}

/* The floor of the machine: a guard as large as ours and a touched page for each, in one mapping. */
static double guard_and_touch(uint64_t ops)
{
	uint32_t many = ops < MOST ? (uint32_t)ops : MOST;
	char *base = mmap(NULL, (uint64_t)many * SLOT, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	double start = bench_cpu_ns(), ns;

	if (base == MAP_FAILED)
		bench_fail("no memory");
	madvise(base, (uint64_t)many * SLOT, MADV_NOHUGEPAGE);
	for (uint64_t k = 0; k < many; k++) {
		char *low = base + k * SLOT;

		if (madvise(low, WP_STACK_GUARD_BYTES, 102 /* MADV_GUARD_INSTALL */) != 0 &&
		    mprotect(low, WP_STACK_GUARD_BYTES, PROT_NONE) != 0)
			bench_fail("no guard");
		*(volatile char *)(low + SLOT - 1) = 1;
	}
	ns = bench_cpu_ns() - start;
	munmap(base, (uint64_t)many * SLOT);
	return ns * (double)ops / many;
}

/* Reads two cache lines of each: a word of state, and a link. */
static double look(wp_stacks **pool, uint32_t colours, uint64_t ops, uint32_t many)
{
	uint64_t random = 88172645463325252u, sum = 0;
	double start;

	if (*pool == NULL) {
		*pool = open_pool(colours, MANY);
		for (uint32_t k = 0; k < MANY; k++)
			*(uint64_t *)wp_stack_control(wp_stacks_take(*pool, NULL)) = k;
	}
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		uint64_t *control;

		control = wp_stacks_slot(*pool,
					 (uint32_t)((bench_random(&random) >> 32) * many >> 32));
		sum += control[0]++ + control[8];
	}
	start = bench_cpu_ns() - start;
	if (sum == 0)
		bench_fail("nothing was read");
	return start;
}

static wp_stacks *coloured, *plain;

#define LOOKS(many)                                                \
	BENCH_SIDE(coloured_##many, look(&coloured, 0, ops, many)) \
	BENCH_SIDE(plain_##many, look(&plain, 1, ops, many))
LOOKS(100000)
LOOKS(1000)
LOOKS(64)

const bench_row bench_stack[] = {
	{.name = "stack",
	 .sides = {{"ours", take_and_give}, {"3ns", .goal_ns = 3}, {"mmap", map_and_unmap}}},
	{.name = "stack_made", .sides = {{"ours", make}, {"machine", guard_and_touch}}},
	{.name = "stack_colours_100000",
	 .sides = {{"ours", coloured_100000}, {"plain", plain_100000}}},
	{.name = "stack_colours_1000", .sides = {{"ours", coloured_1000}, {"plain", plain_1000}}},
	{.name = "stack_colours_64", .sides = {{"ours", coloured_64}, {"plain", plain_64}}},
	{.name = NULL},
};
