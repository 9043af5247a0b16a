/* SPDX-License-Identifier: Apache-2.0
 * crash.c - prints where an actor has crashed as a line on stderr, and then lets it crash.
 *
 *   actor 0 of race: touches memory that is not there, at 0x10, in +1a2b
 *
 * Why it works  The handler runs on the thread that has crashed, which knows its actor. It prints
 *               the instruction as a distance from the first byte of the program, from which
 *               judge/stress/engine.py finds the line. Then the signal is raised again with its
 *               default action. A sanitizer with a handler of its own prints more, so nothing is
 *               installed in that case.
 * Spec          none.
 * Evidence      tests/judge/stress/test_crash.py. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine.h"

/* A program below this address has no base: its addresses are as linked. */
enum { FIXED_MOST = 1 << 28 };

extern const char __executable_start[];

static unsigned long code_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (unsigned long)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (unsigned long)context->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static void on_crash(int number, siginfo_t *info, void *context)
{
	static const char *const what[] = {
		[SIGSEGV] = "touches memory that is not there",
		[SIGBUS] = "touches memory that is not there",
		[SIGFPE] = "divides by zero, or by too little",
		[SIGILL] = "executes what is no instruction",
	};
	unsigned long begin = (unsigned long)__executable_start;
	unsigned long code = code_at(context) - (begin < FIXED_MOST ? 0 : begin);
	char text[256], who[64] = "no actor", at[32] = "";
	int length;

	if (stress_self)
		snprintf(who, sizeof(who), "actor %d", stress_self->index);
	if (number == SIGSEGV || number == SIGBUS)
		snprintf(at, sizeof(at), ", at 0x%lx", (unsigned long)info->si_addr);
	length = snprintf(text, sizeof(text), "%s of %.64s: %s%s, in +%lx\n", who,
			  stress_self ? stress_self->run->test->name : "the engine", what[number],
			  at, code + 1);
	if (write(STDERR_FILENO, text, (size_t)length) < 0)
		_exit(3);
	signal(number, SIG_DFL);
	raise(number);
}

void stress_watch_crashes(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_NODEFER};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction known;

		if (!sigaction(numbers[i], NULL, &known) && known.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
	}
}
