/* SPDX-License-Identifier: Apache-2.0
 * stack_case.h - shared by the programs of stacks: one pool, and cases by name. */
#ifndef STACK_CASE_H
#define STACK_CASE_H

#include <errno.h>

#include "../case.h"
#include "thread/fiber.h"
#include "thread/stack.h"

enum { MOST = 200, MANY = 4000 }; /* stacks */

/* owner: the thread that has it; 0 when it is idle. */
typedef struct control {
	wp_fiber fiber;
	wp_atomic(uint32_t) owner;
	uint32_t number;
} control;

static wp_stacks *pool;
static wp_stack *stacks[MANY];
static wp_stacks_config config = {.control_bytes = sizeof(control), .max_stacks = MOST};

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
int main(int argc, char **argv)
{
	config.guard = argc == 3 ? (enum wp_stack_guard)atoi(argv[2]) : WP_STACK_INSTALLED;
	return run_case(argc == 3 ? 2 : argc, argv);
}

#endif
