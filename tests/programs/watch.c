/* SPDX-License-Identifier: Apache-2.0
 * watch.c CASE - whose the signals and the alternate stack are, from the begin of a watch to its end:
 * overflow.h. Link with -Wl,--wrap=munmap. Prints what is lost. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "case.h"
#include "overflow.h"

static volatile sig_atomic_t noted;

static void note(int signal)
{
	noted = signal;
}

/* The handler that is there would run on the alternate stack, and is not the one that was before. */
static bool is_watched(void)
{
	struct sigaction now;

	check(sigaction(SIGSEGV, NULL, &now) == 0, "a handler");
	return (now.sa_flags & SA_ONSTACK) != 0 && now.sa_handler != note;
}

static void begin(wp_stack_watch *watch)
{
	if (wp_stack_watch_begin(watch) != WP_OK)
		lost("a watch");
}

/* The first takes the signals, the last gives them back. */
static void case_counted(void)
{
	wp_stack_watch first, second;

	signal(SIGSEGV, note);
	for (int round = 0; round < 2; round++) {
		begin(&first);
		check(is_watched(), "that the first takes the signals");
		begin(&second);
		wp_stack_watch_end(&second);
		check(is_watched(), "that one watches still");
		wp_stack_watch_end(&first);
		check(!is_watched(), "that the last gives them back");
	}
}

/* What somebody sends is for the handler that was there, or for nobody. */
static void case_passed(void)
{
	wp_stack_watch watch;

	signal(SIGSEGV, note);
	begin(&watch);
	raise(SIGSEGV);
	check(noted == SIGSEGV, "who was there before");
	wp_stack_watch_end(&watch);
	noted = 0;
	signal(SIGSEGV, SIG_IGN);
	begin(&watch);
	raise(SIGSEGV);
	check(noted == 0, "that it is ignored");
	wp_stack_watch_end(&watch);
}

static int unmapped, in_use;

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes)
{
	stack_t now;

	if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0)
		in_use += (uintptr_t)now.ss_sp - (uintptr_t)memory < bytes;
	unmapped++;
	return __real_munmap(memory, bytes);
}

/* A signal may come at any time: the system never has a stack that is gone. */
static void case_unmapped(void)
{
	wp_stack_watch first, second;

	begin(&first);
	begin(&second);
	wp_stack_watch_end(&second);
	wp_stack_watch_end(&first);
	check(unmapped == 2, "that both stacks are given back");
	check(in_use == 0, "that a stack is not in use when it is given back");
}

int main(int argc, char **argv)
{
	static const one_case cases[] = {{"counted", case_counted}, {"passed", case_passed},
					 {"unmapped", case_unmapped}};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
