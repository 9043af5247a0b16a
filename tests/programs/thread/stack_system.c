/* SPDX-License-Identifier: Apache-2.0
 * stack_system.c - a pool of stacks where the system refuses, and its counts: as stack.c. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "stack_case.h"

enum { LIMIT = 8 }; /* mappings */

static wp_fiber thread;

static void set_limit(int which, uint64_t bytes)
{
	struct rlimit limit;

	getrlimit(which, &limit);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(which, &limit);
}

/* The system refuses addresses, then memory. */
CASE(refused)
{
	uint32_t got = 0;

	set_limit(RLIMIT_AS, 1u << 20);
	errno = 0;
	check(wp_stacks_new(&pool, &config) != 0 && errno == ENOMEM, "no addresses, no pool");
	set_limit(RLIMIT_AS, RLIM_INFINITY);
	open_pool();
	stacks[0] = wp_stacks_take(pool, NULL);
	set_limit(RLIMIT_DATA, 1u << 20);
	while ((stacks[++got] = wp_stacks_take(pool, NULL)) != NULL)
		continue;
	check(errno == ENOMEM && got < MOST && out() == got, "no memory, no stack");
	set_limit(RLIMIT_DATA, RLIM_INFINITY);
	check(wp_stacks_take(pool, NULL) != NULL && out() == got + 1, "later it works again");
}

/* Each guard takes two of the mappings that are allowed. A pool gives back those that it took. */
CASE(mappings)
{
	config.max_mappings = LIMIT;
	config.guard = WP_STACK_PROTECTED;
	for (int round = 0; round < 2; round++) {
		wp_stacks_counts counts;

		open_pool();
		for (uint32_t k = 0; k < MOST; k++)
			wp_stacks_take(pool, NULL);
		counts = wp_stacks_statistics(pool);
		check(counts.guards[WP_STACK_PROTECTED] == LIMIT / 2, "half as many guards");
		check(counts.guards[WP_STACK_CANARY] == MOST - LIMIT / 2, "then canaries");
		wp_stacks_free(pool);
	}
}

/* Locked memory takes no installed guards, so the next best kind is used. */
CASE(locked)
{
	config.max_stacks = 4;
	open_pool();
	wp_stacks_take(pool, NULL);
	if (mlockall(MCL_CURRENT) != 0) {
		puts("not run: locking memory is refused");
		return;
	}
	check(wp_stacks_take(pool, NULL)->guard >= WP_STACK_PROTECTED, "a guard that works");
	check(wp_stacks_statistics(pool).guards[WP_STACK_CANARY] == 0 ||
		      config.guard == WP_STACK_CANARY,
	      "the next best");
	munlockall();
}

/* Do the flags of the mapping at that address contain this one? */
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

CASE(small_pages)
{
	open_pool();
	check(has_flag(wp_stack_control(wp_stacks_take(pool, NULL)), " nh") ||
		      access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0,
	      "no huge pages");
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
CASE(parked)
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
