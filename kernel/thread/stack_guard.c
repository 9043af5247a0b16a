/* SPDX-License-Identifier: Apache-2.0
 * stack_guard.c - which guard a stack gets, and a canary's check. Not explored: system calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "thread/overflow.h"
#include "thread/stack.h"

#ifndef WP_EXPLORE

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#define MADV_GUARD_REMOVE 103
#endif

enum {
	MAPPINGS_EACH = 2,      /* the protected page, and what lies above it */
	MAPPINGS_USUAL = 65530, /* vm.max_map_count where it cannot be read */
};

/* Of the process: mappings that guards take, and whether it was warned. */
static struct {
	wp_lock lock;
	uint32_t mappings;
	bool is_warned;
} process;

uint32_t wp__stack_guard_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned most = MAPPINGS_USUAL;

	if (file != NULL) {
		if (fscanf(file, "%u", &most) != 1)
			most = MAPPINGS_USUAL;
		fclose(file);
	}
	return most / 4;
}

/* Whether the system not only accepts the advice but follows it: qemu-user accepts any. The pool's
 * first page, which is a guard's anyhow, is memory afterwards. */
static bool can_install(wp_stacks *pool)
{
	bool is_guard;

	if (mprotect(pool->base, pool->page, PROT_READ | PROT_WRITE) != 0 ||
	    madvise(pool->base, pool->page, MADV_GUARD_INSTALL) != 0)
		return false;
	is_guard = getrandom(pool->base, 1, GRND_NONBLOCK) < 0 && errno == EFAULT;
	madvise(pool->base, pool->page, MADV_GUARD_REMOVE);
	return is_guard;
}

enum wp_stack_guard wp__stack_guard_best(wp_stacks *pool, enum wp_stack_guard at_most)
{
	return at_most == WP_STACK_INSTALLED && !can_install(pool) ? WP_STACK_PROTECTED : at_most;
}

void wp__stack_guard_return(uint64_t protected_pages)
{
	wp_lock_acquire(&process.lock);
	process.mappings -= (uint32_t)protected_pages * MAPPINGS_EACH;
	wp_lock_release(&process.lock);
}

static bool take_mappings(const wp_stacks *pool)
{
	bool there_are;

	wp_lock_acquire(&process.lock);
	there_are = process.mappings + MAPPINGS_EACH <= pool->max_mappings;
	if (there_are)
		process.mappings += MAPPINGS_EACH;
	wp_lock_release(&process.lock);
	return there_are;
}

static void warn(void)
{
	bool is_first;

	wp_lock_acquire(&process.lock);
	is_first = !process.is_warned;
	process.is_warned = true;
	wp_lock_release(&process.lock);
	if (is_first)
		fprintf(stderr,
			"wakeproof: from here on stacks have no guard page (a quarter of "
			"vm.max_map_count is in use; Linux 6.13 needs none): an overflow is "
			"noticed only when its virtual thread parks or yields\n");
}

static bool protect(wp_stacks *pool, char *low)
{
	if (!take_mappings(pool))
		return false;
	if (mprotect(low, pool->guard_bytes, PROT_NONE) == 0)
		return true;
	wp__stack_guard_return(1);
	return false;
}

enum wp_stack_guard wp__stack_guard_set(wp_stacks *pool, char *low)
{
	if (pool->guard == WP_STACK_INSTALLED &&
	    madvise(low, pool->guard_bytes, MADV_GUARD_INSTALL) == 0)
		return WP_STACK_INSTALLED;
	/* Also where the advice is refused later: for locked memory (mlockall). */
	if (pool->guard != WP_STACK_CANARY && protect(pool, low))
		return WP_STACK_PROTECTED;
	warn();
	return WP_STACK_CANARY;
}

void wp__stack_check(const wp_stack *stack)
{
	const uint64_t *at = (const uint64_t *)(const void *)(stack->low - stack->pool->page);
	uint64_t written = 0;

	for (uint64_t k = 0; k < stack->pool->page / sizeof(*at); k++)
		written |= at[k];
	if (written == 0)
		return;
	wp__overflow_report(stack);
	abort();
}

#endif
