/* SPDX-License-Identifier: Apache-2.0
 * passed.c CASE - a thread leaves its stack by switching to the next one directly: everything after
 * that is as by way of the loop. Prints what is lost. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sched/vthread_stackful.h"
#include "../vthreads_case.h"
#include "../case_main.h"

enum { GUARD_REMOVE = 103 }; /* of madvise, Linux 6.13 */

/* Two on one carrier: the first one switches to the second. */
static wp_vthread *first, *second;

static void make_two(int (*run)(void *), void (*left)(wp_vthread *thread))
{
	wp_vthread_config config = {.name = "one", .run = run, .left = left};

	open_group(1, false, 0);
	first = new_as(&config);
	second = new_as(&(wp_vthread_config){.run = yields_until_ready});
}

static int starts_two(void *arg)
{
	wp_vthread_start(first);
	wp_vthread_start(second);
	return arg != NULL;
}

static void run_two(void)
{
	join(start(starts_two, NULL), "who starts them");
	join(first, "who passes");
	join(second, "who goes on");
	close_group();
}

/* `left` is called as no thread: the thread that goes on has not begun yet. */
static void is_left(wp_vthread *thread)
{
	static const wp_local key = {NULL};

	check(thread == first && wp_vthread_current() == NULL, "that it is called by no thread");
	check(wp_local_set(&key, &count) == WP_FORBIDDEN, "that there are no locals");
	wp_store_release(&ready, 1);
}

CASE(left)
{
	make_two(nothing, is_left);
	run_two();
	check(wp_load_acquire(&ready) == 1, "that it is told");
}

/* A broken canary is found when its thread leaves, before any other thread goes on. */
static int breaks(void *arg)
{
	*(volatile char *)(wp_stack_of(first)->low - 1) = 1;
	wp_vthread_yield();
	lost("a report");
	return arg != NULL;
}

CASE(canary)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	wp_stack *stack;

	make_two(breaks, NULL);
	stack = wp_stack_of(first);
	madvise(stack->low - page, page, GUARD_REMOVE);
	mprotect(stack->low - page, page, PROT_READ | PROT_WRITE);
	stack->guard = WP_STACK_CANARY;
	first->has_canary = true;
	run_two();
}

/* The same in a child, after two that yield and break nothing. */
static int yields_once(void *arg)
{
	wp_vthread_yield();
	wp_store_release(&ready, 1);
	return arg != NULL;
}

CASE(seen)
{
	int status = 0;
	pid_t child;

	make_two(yields_once, NULL);
	run_two();
	wp_store_relaxed(&ready, 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		fclose(stderr);
		case_canary();
		exit(0);
	}
	check(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
		      WTERMSIG(status) == SIGABRT,
	      "a report");
}
