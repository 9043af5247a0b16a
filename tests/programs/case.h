/* SPDX-License-Identifier: Apache-2.0
 * case.h - a program that runs one case, and prints what is lost. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/futex.h"

#ifndef PATIENCE_S
#define PATIENCE_S 60
#endif
#define MS 1000000ll

static int failures;

static inline void check(bool holds, const char *what)
{
	if (holds)
		return;
	printf("lost %s\n", what);
	failures++;
}

static inline void lost(const char *what)
{
	printf("lost %s\n", what);
	exit(1);
}

static inline int64_t in_ms(int64_t ms)
{
	return wp_clock_ns() + ms * MS;
}

typedef struct one_case {
	const char *name;
	void (*run)(void);
} one_case;

/* CASE: prints what is lost, one line each; nothing: all is well. */
static inline int run_case(int argc, char **argv, const one_case *cases, size_t many)
{
	for (size_t at = 0; argc == 2 && at < many; at++)
		if (strcmp(argv[1], cases[at].name) == 0) {
			cases[at].run();
			return failures != 0;
		}
	return 2;
}
