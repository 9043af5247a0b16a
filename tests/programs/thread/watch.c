/* SPDX-License-Identifier: Apache-2.0
 * watch.c CASE - the owners of the signals and of the alternate stack, from the begin of a watch to
 * its end: overflow.h. Link with -Wl,--wrap= of munmap and pthread_sigmask. Prints what is lost. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "../case_main.h"
#include "thread/overflow.h"

static volatile sig_atomic_t noted;

static void note(int signal)
{
	noted = signal;
}

/* The current handler would run on the alternate stack, and is not the earlier one. */
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

/* The first watch takes the signals, the last one gives them back. */
CASE(counted)
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

/* A signal that is sent is for the earlier handler, or for none. */
CASE(passed)
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

/* Calls the handler directly, as the system does after a fault at that address, with that stack
 * pointer. True: it has passed the signal on. */
enum { STACKS = 4 };

static wp_stacks *stacks;

static bool is_passed_on(uintptr_t address, uintptr_t sp)
{
	siginfo_t info = {.si_signo = SIGSEGV, .si_code = SEGV_ACCERR};
	static ucontext_t context;
	struct sigaction now;

	info.si_addr = (void *)address;
#if defined(__x86_64__)
	context.uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
#else
	context.uc_mcontext.sp = sp;
#endif
	noted = 0;
	sigaction(SIGSEGV, NULL, &now);
	now.sa_sigaction(SIGSEGV, &info, &context);
	return noted == SIGSEGV;
}

static void open_stacks(void)
{
	wp_stacks_config config = {.max_stacks = STACKS, .guard = WP_STACK_PROTECTED};

	signal(SIGSEGV, note);
	if (wp_stacks_new(&stacks, &config) != WP_OK)
		lost("stacks");
	for (int at = 0; at < STACKS; at++)
		if (wp_stacks_take(stacks, NULL) == NULL)
			lost("a stack");
}

/* Right beside an overflow. */
CASE(stray)
{
	uintptr_t low, top, slot;
	wp_stack_watch watch;

	open_stacks();
	low = (uintptr_t)stacks->base;
	slot = stacks->slot_bytes;
	top = low + stacks->bytes;
	begin(&watch);
	check(is_passed_on(low - 1, low + slot - 8), "what is below all stacks");
	check(is_passed_on(top, top - 8), "what is above all stacks");
	check(is_passed_on(low + slot + stacks->guard_bytes, low + 2 * slot - 8),
	      "what is no guard");
	check(is_passed_on(low + slot, low + 2 * slot), "who runs on the stack above");
	check(is_passed_on(low + 3 * slot, low + 2 * slot - 8), "who runs far below");
	check(is_passed_on(low, low - 8), "who runs on no stack");
	wp_stack_watch_end(&watch);
	wp_stacks_free(stacks);
}

/* In a child, which would die of it next. */
static void reports(FILE *told, uintptr_t address, uintptr_t sp)
{
	static const char wanted[] =
		"wakeproof: stack overflow in virtual thread \"?\" (64 KiB; give it "
		"a larger stack)\n";
	char said[2 * sizeof(wanted)] = "";
	int status = -1;
	pid_t child;

	check(ftruncate(fileno(told), 0) == 0, "a file");
	fflush(stdout);
	child = fork();
	if (child == 0) {
		wp_stack_watch watch;

		begin(&watch);
		dup2(fileno(told), STDERR_FILENO);
		exit(is_passed_on(address, sp));
	}
	check(waitpid(child, &status, 0) == child && status == 0, "an overflow");
	check(pread(fileno(told), said, sizeof(said) - 1, 0) >= 0 && strcmp(said, wanted) == 0,
	      "its report");
}

/* The first byte of a guard, its last; the stack pointer at either end of its stack, or below it by
 * a large frame. */
CASE(found)
{
	FILE *told = tmpfile();
	uintptr_t guard, slot;

	open_stacks();
	slot = stacks->slot_bytes;
	guard = (uintptr_t)stacks->base + 2 * slot;
	check(fcntl(fileno(told), F_SETFL, O_APPEND) == 0, "a file");
	reports(told, guard, guard + slot - 8);
	reports(told, guard + stacks->guard_bytes - 1, guard + slot - 8);
	reports(told, guard, guard);
	reports(told, guard, guard - slot);
	reports(told, guard - 2 * slot, guard - 2 * slot);
	fclose(told);
	wp_stacks_free(stacks);
}

/* Another handler was set later, and may pass signals on to that of a watch. The next watch leaves
 * it in place. */
static void note_later(int signal)
{
}

CASE(theirs)
{
	struct sigaction now;
	wp_stack_watch watch;

	begin(&watch);
	signal(SIGSEGV, note_later);
	for (int round = 0; round < 2; round++) {
		wp_stack_watch_end(&watch);
		sigaction(SIGSEGV, NULL, &now);
		check(now.sa_handler == note_later, "who came later, at an end");
		begin(&watch);
		sigaction(SIGSEGV, NULL, &now);
		check(now.sa_handler == note_later, "who came later, at a begin");
	}
	wp_stack_watch_end(&watch);
}

/* While the lock is held neither signal may come, because its handler takes the lock. */
static int masked, masks;

int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	masks += how == SIG_BLOCK;
	masked +=
		how == SIG_BLOCK && sigismember(set, SIGSEGV) == 1 && sigismember(set, SIGBUS) == 1;
	return __real_pthread_sigmask(how, set, before);
}

CASE(masked)
{
	wp_stack_watch watch;
	sigset_t now;

	open_stacks();
	begin(&watch);
	wp_stack_watch_end(&watch);
	wp_stacks_free(stacks);
	check(masks == 4 && masked == masks, "that both signals wait");
	check(__real_pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 &&
		      sigismember(&now, SIGSEGV) == 0 && sigismember(&now, SIGBUS) == 0,
	      "that they wait no more");
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
CASE(unmapped)
{
	wp_stack_watch first, second;

	begin(&first);
	begin(&second);
	wp_stack_watch_end(&second);
	wp_stack_watch_end(&first);
	check(unmapped == 2, "that both stacks are given back");
	check(in_use == 0, "that a stack is not in use when it is given back");
}
