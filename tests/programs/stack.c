/* SPDX-License-Identifier: Apache-2.0
 * stack.c - a pool of stacks, case by case: `stack CASE [GUARD]`. Prints what is not as promised; exit
 * code 1 if anything is not.
 *
 * Evidence      tests/test_stack.py, which also takes out one line of the kernel at a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chance.h"
#include "fiber.h"
#include "stack.h"

enum { MOST = 200, MANY = 4000, THREADS = 4, HELD = 48, ROUNDS = 30000, DEEP_PAGES = 5, LIMIT = 8 };

/* owner: the thread that has it, and 0 when idle. */
typedef struct control {
	wp_fiber fiber;
	wp_atomic(uint32_t) owner;
	uint32_t number;
} control;

static wp_stacks *pool;
static wp_stack *stacks[MANY];
static wp_stacks_config config = {.control_bytes = sizeof(control), .max_stacks = MOST};
static int broken;
static wp_fiber thread;
static wp_atomic(uint32_t) ended;

static void expect(bool holds, const char *what)
{
	if (holds)
		return;
	broken = 1;
	printf("not so: %s\n", what);
}

static void open_pool(void)
{
	if (wp_stacks_new(&pool, &config) == 0)
		return;
	printf("no pool: %s\n", strerror(errno));
	exit(2);
}

static uint64_t out(void)
{
	return wp_stacks_statistics(pool).out;
}

static void layout(void)
{
	uint64_t page;

	open_pool();
	page = pool->page;
	for (uint32_t k = 0; k < MOST; k++) {
		wp_stack *stack = wp_stacks_take(pool, NULL);
		char *control_at = wp_stack_control(stack), *slot = stack->low - page;
		uint64_t end = (uint64_t)(control_at - slot) + pool->control_bytes;

		expect(wp_stack_of(control_at) == stack, "a control block leads to its stack");
		expect(wp_stacks_slot(pool, k) == (void *)control_at, "slots go by number");
		expect((uintptr_t)control_at % WP_STACK_LINE == 0, "a control block begins a line");
		expect(end <= pool->stack_bytes && end > pool->stack_bytes - page / 2, "colours");
		expect((uintptr_t)stack % page >= WP_STACK_FRAMES, "frames begin in the same page");
		expect(*(uint64_t *)(void *)control_at == 0, "zeroed at first");
	}
}

/* Different lines of the page that so many consecutive control blocks begin at. */
static uint32_t lines(uint32_t colours)
{
	uint64_t seen = 0;

	config.colours = colours;
	open_pool();
	for (uint32_t k = 0; k < 64; k++) {
		wp_stacks_take(pool, NULL);
		seen |= 1ull << ((uintptr_t)wp_stacks_slot(pool, k) % pool->page / WP_STACK_LINE) % 64;
	}
	wp_stacks_free(pool);
	return (uint32_t)__builtin_popcountll(seen);
}

static void colours(void)
{
	expect(lines(0) == WP_STACK_COLOURS, "16 colours");
	expect(lines(1) == 1, "one colour");
}

static void own(wp_stack *stack, uint32_t from, uint32_t to)
{
	control *block = wp_stack_control(stack);

	expect(wp_exchange_acq_rel(&block->owner, to) == from, "one owner");
}

static void reuse(void)
{
	wp_stack_cache cache = {0};
	wp_stack *first;

	open_pool();
	first = wp_stacks_take(pool, &cache);
	wp_stacks_give(pool, &cache, first);
	expect(wp_stacks_take(pool, &cache) == first, "last in, first out");
	for (uint32_t k = 0; k < MOST - 1; k++)
		stacks[k] = wp_stacks_take(pool, &cache);
	for (uint32_t k = 0; k < MOST - 1; k++)
		wp_stacks_give(pool, &cache, stacks[k]);
	expect(cache.count <= WP_STACK_CACHE, "a cache is bounded");
	expect(out() == cache.count + 1, "the others are idle");
	expect(wp_stacks_take(pool, &cache) == stacks[MOST - 2], "a spill keeps the warm ones");
	wp_stack_cache_empty(pool, &cache);
	expect(out() == 2 && cache.count == 0, "an emptied cache has none");
	own(wp_stacks_take(pool, &cache), 0, 1);
	expect(cache.count == WP_STACK_CACHE / 2 - 1, "a batch at a time");
	wp_stack_cache_empty(pool, &cache);
	for (uint32_t k = 0; k < MOST - 3; k++)
		own(wp_stacks_take(pool, &cache), 0, 1);
	expect(wp_stacks_take(pool, &cache) == NULL, "none was there twice");
}

static void exhausted(void)
{
	wp_stack_cache cache = {0};

	open_pool();
	for (uint32_t k = 0; k < MOST; k++)
		stacks[k] = wp_stacks_take(pool, k % 2 ? &cache : NULL);
	errno = 0;
	expect(wp_stacks_take(pool, &cache) == NULL && errno == ENOMEM, "no more than max_stacks");
	wp_stacks_give(pool, NULL, stacks[7]);
	expect(wp_stacks_take(pool, &cache) == stacks[7], "one that was given back");
	expect(wp_stacks_take(pool, NULL) == NULL, "nor then");
	expect(out() == MOST, "nothing leaks");
}

static void set_limit(int which, uint64_t bytes)
{
	struct rlimit limit;

	getrlimit(which, &limit);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(which, &limit);
}

/* The system refuses addresses, then memory. */
static void refused(void)
{
	uint32_t got = 0;

	set_limit(RLIMIT_AS, 1u << 20);
	errno = 0;
	expect(wp_stacks_new(&pool, &config) != 0 && errno == ENOMEM, "no addresses, no pool");
	set_limit(RLIMIT_AS, RLIM_INFINITY);
	open_pool();
	stacks[0] = wp_stacks_take(pool, NULL);
	set_limit(RLIMIT_DATA, 1u << 20);
	while ((stacks[++got] = wp_stacks_take(pool, NULL)) != NULL)
		continue;
	expect(errno == ENOMEM && got < MOST && out() == got, "no memory, no stack");
	set_limit(RLIMIT_DATA, RLIM_INFINITY);
	expect(wp_stacks_take(pool, NULL) != NULL && out() == got + 1, "later it works again");
}

static void invalid(void)
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
		expect(wp_stacks_new(&pool, &none[k]) != 0 && errno == EINVAL, "invalid is refused");
	}
}

/* Of the mappings that are allowed, each guard takes two; what a pool took it gives back. */
static void mappings(void)
{
	config.max_mappings = LIMIT;
	config.guard = WP_STACK_PROTECTED;
	for (int round = 0; round < 2; round++) {
		wp_stacks_counts counts;

		open_pool();
		for (uint32_t k = 0; k < MOST; k++)
			wp_stacks_take(pool, NULL);
		counts = wp_stacks_statistics(pool);
		expect(counts.guards[WP_STACK_PROTECTED] == LIMIT / 2, "half as many guards");
		expect(counts.guards[WP_STACK_CANARY] == MOST - LIMIT / 2, "then canaries");
		wp_stacks_free(pool);
	}
}

static void trimming(void)
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
	expect(wp_stacks_trim(pool) == 0, "what is in use is not trimmed");
	wp_stacks_give(pool, NULL, stack);
	bytes = wp_stacks_trim(pool);
	expect(bytes == DEEP_PAGES * page, "as much as was touched");
	expect(wp_stacks_statistics(pool).bytes_trimmed == bytes, "and it is counted");
	expect(wp_stacks_trim(pool) == 0, "once");
	expect(wp_stacks_take(pool, NULL) == stack, "trimmed ones are taken again");
	expect(block->number == 7, "a control block keeps its bytes");
	expect(stack->low[page] == 0, "the memory below is gone");
}

/* Memory that is locked takes no installed guards: the next best. */
static void locked(void)
{
	config.max_stacks = 4;
	open_pool();
	wp_stacks_take(pool, NULL);
	if (mlockall(MCL_CURRENT) != 0) {
		puts("not run: locking memory is refused");
		return;
	}
	expect(wp_stacks_take(pool, NULL)->guard >= WP_STACK_PROTECTED, "a guard that works");
	expect(wp_stacks_statistics(pool).guards[WP_STACK_CANARY] == 0 ||
		       config.guard == WP_STACK_CANARY, "the next best");
	munlockall();
}

/* Whether the flags of the mapping at that address have this one. */
static bool has_flag(const void *at, const char *flag)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	uintptr_t from, to;
	bool is_there = false, has = false;
	char line[512];

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
			is_there = from <= (uintptr_t)at && (uintptr_t)at < to;
		else if (is_there && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag) != NULL;
	}
	if (maps != NULL)
		fclose(maps);
	return has;
}

static void small_pages(void)
{
	open_pool();
	expect(has_flag(wp_stack_control(wp_stacks_take(pool, NULL)), " nh") ||
		       access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0, "no huge pages");
}

static void park_for_ever(void *arg)
{
	control *self = arg;

	for (;;)
		wp_fiber_switch(&self->fiber, &thread, 0);
}

static uint64_t kilobytes(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	uint64_t sum = 0;
	unsigned kb;
	char line[128];

	while (status != NULL && fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "VmRSS: %u", &kb) == 1 || sscanf(line, "VmPTE: %u", &kb) == 1)
			sum += kb;
	if (status != NULL)
		fclose(status);
	return sum;
}

/* Bytes of memory that a parked fiber takes. */
static void parked(void)
{
	uint64_t before;

	config.max_stacks = MANY;
	config.max_mappings = 4 * MANY;
	open_pool();
	wp_fiber_thread(&thread);
	before = kilobytes();
	for (uint32_t k = 0; k < MANY; k++) {
		wp_stack *stack = wp_stacks_take(pool, NULL);
		control *self = wp_stack_control(stack);

		wp_fiber_init(&self->fiber, stack->low, wp_stack_bytes(stack), park_for_ever, self);
		wp_fiber_switch(&thread, &self->fiber, 0);
		wp_stack_check(stack);
	}
	printf("%u bytes\n", (unsigned)((kilobytes() - before) * 1024 / MANY));
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
		expect(owned <= MOST, "no more are owned than there are");
		wp_stacks_trim(pool);
	}
	return unused;
}

static void threads(void)
{
	pthread_t ids[THREADS + 1];

	open_pool();
	pthread_create(&ids[THREADS], NULL, enumerate, NULL);
	for (uintptr_t k = 0; k < THREADS; k++)
		pthread_create(&ids[k], NULL, take_and_give, (void *)(k + 1));
	for (int k = 0; k <= THREADS; k++)
		pthread_join(ids[k], NULL);
	expect(out() == 0, "all were given back");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"layout", layout},     {"colours", colours},   {"reuse", reuse},
		     {"exhausted", exhausted}, {"refused", refused}, {"invalid", invalid},
		     {"mappings", mappings},   {"trimming", trimming}, {"parked", parked},
		     {"threads", threads},	{"locked", locked},
		     {"small_pages", small_pages}};

	config.guard = argc > 2 ? (enum wp_stack_guard)atoi(argv[2]) : WP_STACK_INSTALLED;
	for (size_t k = 0; argc > 1 && k < sizeof(cases) / sizeof(cases[0]); k++)
		if (strcmp(cases[k].name, argv[1]) == 0) {
			cases[k].run();
			return broken;
		}
	return 2;
}
