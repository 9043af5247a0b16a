/* SPDX-License-Identifier: Apache-2.0
 * case.h - a program that runs one case, and prints what is lost. */
#ifndef CASE_H
#define CASE_H

#include <errno.h>
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

/* The time after which an event that has not come is lost. */
static inline int64_t patience(void)
{
	return in_ms(PATIENCE_S * 1000);
}

/* Waits until the condition holds. An event that does not come is lost, and the program with it. */
#define AWAIT(condition, what)                                       \
	for (int64_t end_ns_ = patience(); !(condition); wp_yield()) \
		if (wp_clock_ns() > end_ns_)                         \
	lost(what)

/* For a wrapped call: is it the one that the system refuses? `left` is the number of calls before
 * that one; negative: none is refused. */
static inline bool refuses_one(int *left)
{
	if (*left < 0 || (*left)-- > 0)
		return false;
	errno = ENOMEM;
	return true;
}

typedef struct one_case {
	const char *name;
	void (*run)(void);
	struct one_case *next;
} one_case;

static one_case *cases;

/* CASE(name) { ... }: the body of the program when it is run with that name. */
#define CASE(name_)                                                               \
	static void case_##name_(void);                                           \
	static one_case one_case_##name_ = {.name = #name_, .run = case_##name_}; \
	__attribute__((constructor)) static void add_case_##name_(void)           \
	{                                                                         \
		one_case_##name_.next = cases;                                    \
		cases = &one_case_##name_;                                        \
	}                                                                         \
	static void case_##name_(void)

/* A case that is one call. */
#define CASE_CALL(name_, call_) \
	CASE(name_)             \
	{                       \
		call_;          \
	}

/* Runs CASE. Prints what is lost, one line each; no output means that all is well. */
static inline int run_case(int argc, char **argv)
{
	for (const one_case *one = cases; argc == 2 && one != NULL; one = one->next)
		if (strcmp(argv[1], one->name) == 0) {
			one->run();
			return failures != 0;
		}
	return 2;
}

#endif
