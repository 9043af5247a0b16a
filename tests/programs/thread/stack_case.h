/* SPDX-License-Identifier: Apache-2.0
 * stack_case.h - what the programs of stacks share: one pool, and cases by name. */
#ifndef STACK_CASE_H
#define STACK_CASE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thread/fiber.h"
#include "thread/stack.h"

enum { MOST = 200, MANY = 4000 }; /* stacks */

/* owner: the thread that has it, and 0 when idle. */
typedef struct control {
	wp_fiber fiber;
	wp_atomic(uint32_t) owner;
	uint32_t number;
} control;

typedef struct stack_case {
	const char *name; /* NULL: the last */
	void (*run)(void);
} stack_case;

static wp_stacks *pool;
static wp_stack *stacks[MANY];
static wp_stacks_config config = {.control_bytes = sizeof(control), .max_stacks = MOST};
static int broken;

static inline void expect(bool holds, const char *what)
{
	if (holds)
		return;
	broken = 1;
	printf("not so: %s\n", what);
}

static inline void open_pool(void)
{
	if (wp_stacks_new(&pool, &config) == 0)
		return;
	printf("no pool: %s\n", strerror(errno));
	exit(2);
}

static inline uint64_t out(void)
{
	return wp_stacks_statistics(pool).out;
}

/* `program CASE [GUARD]`: 0 to 2 of enum wp_stack_guard. */
static inline int run_case(const stack_case *cases, int argc, char **argv)
{
	config.guard = argc > 2 ? (enum wp_stack_guard)atoi(argv[2]) : WP_STACK_INSTALLED;
	for (; argc > 1 && cases->name != NULL; cases++)
		if (strcmp(cases->name, argv[1]) == 0) {
			cases->run();
			return broken;
		}
	return 2;
}

#endif
