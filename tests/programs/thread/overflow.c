/* SPDX-License-Identifier: Apache-2.0
 * overflow.c - a virtual thread that goes deeper than its stack: `overflow CASE [GUARD]`, guard 0
 * to 2 of enum wp_stack_guard. It prints only what its own handlers see.
 *
 *   deep      recursion without end
 *   shallow   recursion that stays within the stack, many times
 *   own       a handler was set before: it must not see an overflow
 *   stray     a write into another stack's guard page: it must see that, and no report
 *   null      the same for a null pointer
 *   sent      kill(SIGSEGV) is no overflow
 *   over      begin, end: the earlier handlers are restored
 *   unnamed   a pool without names */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "thread/fiber.h"
#include "thread/overflow.h"

enum { FRAME = 512, ROUNDS = 1000 };

typedef struct control {
	wp_fiber fiber;
	char name[32];
} control;

static wp_fiber thread;
static wp_stacks *pool;
static wp_stack *mounted;
static uintptr_t limit; /* how deep: an address */

static const char *name_of(void *at)
{
	return ((control *)at)->name;
}

__attribute__((noinline)) static uint64_t deeper(void)
{
	volatile char frame[FRAME];

	frame[0] = frame[FRAME - 1] = 1;
	return (uintptr_t)frame < limit ? 0 : deeper() + (uint64_t)frame[0];
}

static void run(void *arg)
{
	control *self = arg;

	for (;;) {
		deeper();
		wp_fiber_switch(&self->fiber, &thread, 0);
	}
}

static void mount(uintptr_t down_to)
{
	control *self = wp_stack_control(mounted);

	limit = down_to;
	wp_fiber_switch(&thread, &self->fiber, 0);
	wp_stack_check(mounted);
}

static void see(int signal)
{
	static const char text[] = "own handler\n";

	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(3);
}

static void fail(const char *what)
{
	fprintf(stderr, "overflow: %s\n", what);
	exit(2);
}

static void prepare(enum wp_stack_guard guard, bool is_named)
{
	wp_stacks_config config = {.control_bytes = sizeof(control),
				   .max_stacks = 4,
				   .guard = guard,
				   .name = is_named ? name_of : NULL};
	control *self;

	if (wp_stacks_new(&pool, &config) != 0 || wp_stacks_take(pool, NULL) == NULL)
		fail("no pool");
	mounted = wp_stacks_take(pool, NULL);
	if (mounted == NULL || mounted->guard != guard)
		fail("not that guard");
	self = wp_stack_control(mounted);
	snprintf(self->name, sizeof(self->name), "the deep one");
	wp_fiber_thread(&thread);
	wp_fiber_init(&self->fiber, mounted->low, wp_stack_bytes(mounted), run, self);
}

static void look_back(void)
{
	struct sigaction action;
	stack_t alternate;

	sigaction(SIGSEGV, NULL, &action);
	sigaltstack(NULL, &alternate);
	if (action.sa_handler == see)
		puts("handler given back");
	if (alternate.ss_flags == SS_DISABLE)
		puts("stack given back");
}

static void crash(const char *what)
{
	volatile char *target = NULL;

	if (strcmp(what, "stray") == 0) /* of the first stack, which is not in use */
		target = pool->base + 1;
	if (strcmp(what, "sent") == 0)
		raise(SIGSEGV);
	else
		*target = 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	wp_stack_watch watch;

	prepare(argc > 2 ? (enum wp_stack_guard)atoi(argv[2]) : WP_STACK_PROTECTED,
		strcmp(what, "unnamed") != 0);
	if (strcmp(what, "deep") != 0 && strcmp(what, "sent") != 0)
		signal(SIGSEGV, see);
	if (wp_stack_watch_begin(&watch) != 0)
		fail("no alternate stack");
	if (strcmp(what, "shallow") == 0) {
		for (int k = 0; k < ROUNDS; k++)
			mount((uintptr_t)mounted->low + 4 * FRAME);
		puts("whole");
	} else if (strcmp(what, "deep") == 0 || strcmp(what, "own") == 0 ||
		   strcmp(what, "unnamed") == 0) {
		/* With a canary it must come back: just into the page, and out. */
		mount(mounted->guard == WP_STACK_CANARY ? (uintptr_t)mounted->low : 0);
	} else if (strcmp(what, "over") != 0) {
		crash(what);
	}
	wp_stack_watch_end(&watch);
	if (strcmp(what, "over") == 0)
		look_back();
	wp_stacks_free(pool);
	return 0;
}
