/* SPDX-License-Identifier: Apache-2.0
 * stack.c - a pool of stacks, case by case: `stack CASE [GUARD]`. Prints each broken promise; exit
 * code 1 if there is any.
 *
 * Evidence      tests/thread/test_stack.py, which also changes one line of the kernel at a time. */
#define _GNU_SOURCE
#include <pthread.h>

#include "../chance.h"
#include "stack_case.h"

enum { THREADS = 4, HELD = 48, ROUNDS = 30000, DEEP_PAGES = 5 };

static wp_atomic(uint32_t) ended;

CASE(layout)
{
	uint64_t page;

	open_pool();
	page = pool->page;
	for (uint32_t k = 0; k < MOST; k++) {
		wp_stack *stack = wp_stacks_take(pool, NULL);
		char *control_at = wp_stack_control(stack), *slot = stack->low - page;
		uint64_t end = (uint64_t)(control_at - slot) + pool->control_bytes;

		check(wp_stack_of(control_at) == stack, "a control block leads to its stack");
		check(wp_stacks_slot(pool, k) == (void *)control_at, "slots go by number");
		check((uintptr_t)control_at % WP_STACK_LINE == 0, "a control block begins a line");
		check(end <= pool->stack_bytes && end > pool->stack_bytes - page / 2, "colours");
		check((uintptr_t)stack % page >= WP_STACK_FRAMES, "frames begin in the same page");
		check(*(uint64_t *)(void *)control_at == 0, "zeroed at first");
	}
}

/* The number of different cache lines of a page at which so many consecutive control blocks
 * begin. */
static uint32_t lines(uint32_t colours)
{
	uint64_t seen = 0;

	config.colours = colours;
	open_pool();
	for (uint32_t k = 0; k < 64; k++) {
		uintptr_t at = (uintptr_t)wp_stack_control(wp_stacks_take(pool, NULL));

		seen |= 1ull << (at % pool->page / WP_STACK_LINE) % 64;
	}
	wp_stacks_free(pool);
	return (uint32_t)__builtin_popcountll(seen);
}

CASE(colours)
{
	check(lines(0) == WP_STACK_COLOURS, "16 colours");
	check(lines(1) == 1, "one colour");
}

static void own(wp_stack *stack, uint32_t from, uint32_t to)
{
	control *block = wp_stack_control(stack);

	check(wp_exchange_acq_rel(&block->owner, to) == from, "one owner");
}

CASE(reuse)
{
	wp_stack_cache cache = {0};
	wp_stack *first;

	open_pool();
	first = wp_stacks_take(pool, &cache);
	wp_stacks_give(pool, &cache, first);
	check(wp_stacks_take(pool, &cache) == first, "last in, first out");
	for (uint32_t k = 0; k < MOST - 1; k++)
		stacks[k] = wp_stacks_take(pool, &cache);
	for (uint32_t k = 0; k < MOST - 1; k++)
		wp_stacks_give(pool, &cache, stacks[k]);
	check(cache.count <= WP_STACK_CACHE, "a cache is bounded");
	check(out() == cache.count + 1, "the others are idle");
	check(wp_stacks_take(pool, &cache) == stacks[MOST - 2], "a spill keeps the warm ones");
	wp_stack_cache_empty(pool, &cache);
	check(out() == 2 && cache.count == 0, "an emptied cache has none");
	own(wp_stacks_take(pool, &cache), 0, 1);
	check(cache.count == WP_STACK_CACHE / 2 - 1, "a batch at a time");
	wp_stack_cache_empty(pool, &cache);
	for (uint32_t k = 0; k < MOST - 3; k++)
		own(wp_stacks_take(pool, &cache), 0, 1);
	check(wp_stacks_take(pool, &cache) == NULL, "none was there twice");
}

CASE(exhausted)
{
	wp_stack_cache cache = {0};

	open_pool();
	for (uint32_t k = 0; k < MOST; k++)
		stacks[k] = wp_stacks_take(pool, k % 2 ? &cache : NULL);
	errno = 0;
	check(wp_stacks_take(pool, &cache) == NULL && errno == ENOMEM, "no more than max_stacks");
	wp_stacks_give(pool, NULL, stacks[7]);
	check(wp_stacks_take(pool, &cache) == stacks[7], "one that was given back");
	check(wp_stacks_take(pool, NULL) == NULL, "nor then");
	check(out() == MOST, "nothing leaks");
}

CASE(invalid)
{
	static const wp_stacks_config none[] = {
		{.control_bytes = 64},
		{.control_bytes = 4096, .max_stacks = 1},
		{.control_bytes = 64, .max_stacks = 2, .stack_bytes = 1ull << 63},
		{.control_bytes = 64, .max_stacks = 1, .colours = 64},
		{.control_bytes = UINT32_MAX, .max_stacks = 1},
		{.control_bytes = 64, .max_stacks = 1, .stack_bytes = UINT64_MAX},
	};

	for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++) {
		errno = 0;
		check(wp_stacks_new(&pool, &none[k]) != 0 && errno == EINVAL, "a refusal");
	}
}

CASE(trimming)
{
	uint64_t page, bytes;
	control *block;
	wp_stack *stack;

	open_pool();
	page = pool->page;
	stack = wp_stacks_take(pool, NULL);
	block = wp_stack_control(stack);
	block->number = 7;
	for (uint64_t k = 0; k < DEEP_PAGES; k++)
		stack->low[k * page] = 1;
	check(wp_stacks_trim(pool) == 0, "what is in use is not trimmed");
	wp_stacks_give(pool, NULL, stack);
	bytes = wp_stacks_trim(pool);
	check(bytes == DEEP_PAGES * page, "as much as was touched");
	check(wp_stacks_statistics(pool).bytes_trimmed == bytes, "and it is counted");
	check(wp_stacks_trim(pool) == 0, "once");
	check(wp_stacks_take(pool, NULL) == stack, "trimmed ones are taken again");
	check(block->number == 7, "a control block keeps its bytes");
	check(stack->low[page] == 0, "the memory below is gone");
}

static void *take_and_give(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, have = 0, last = 0;
	uint64_t random = seed + me * 7919u + 1;
	wp_stack_cache cache = {0}, *mine = me % 2 ? &cache : NULL;
	wp_stack *held[HELD];

	for (uint32_t round = 0; round < ROUNDS; round++) {
		wp_stack *stack;

		if (draw(&random, HELD) >= have && (stack = wp_stacks_take(pool, mine)) != NULL) {
			own(stack, 0, me);
			((control *)wp_stack_control(stack))->number = round;
			held[have++] = stack;
		} else if (have > 0) {
			last = draw(&random, have);
			own(held[last], me, 0);
			wp_stacks_give(pool, mine, held[last]);
			held[last] = held[--have];
		}
	}
	while (have > 0) {
		own(held[--have], me, 0);
		wp_stacks_give(pool, mine, held[have]);
	}
	wp_stack_cache_empty(pool, &cache);
	wp_fetch_add_release(&ended, 1);
	return NULL;
}

/* As a dump does, and trims in between. */
static void *enumerate(void *unused)
{
	while (wp_load_acquire(&ended) < THREADS) {
		uint32_t count = wp_stacks_count(pool), owned = 0;

		for (uint32_t k = 0; k < count; k++)
			owned += wp_load_acquire(&((control *)wp_stacks_slot(pool, k))->owner) != 0;
		check(owned <= MOST, "no more are owned than there are");
		wp_stacks_trim(pool);
	}
	return unused;
}

CASE(threads)
{
	pthread_t ids[THREADS + 1];

	open_pool();
	pthread_create(&ids[THREADS], NULL, enumerate, NULL);
	for (uintptr_t k = 0; k < THREADS; k++)
		pthread_create(&ids[k], NULL, take_and_give, (void *)(k + 1));
	for (int k = 0; k <= THREADS; k++)
		pthread_join(ids[k], NULL);
	check(out() == 0, "all were given back");
}
