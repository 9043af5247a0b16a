/* SPDX-License-Identifier: Apache-2.0
 * follow.h - the operations at which actors stop, and the memory on which they work.
 *
 * Spec      none.
 * Evidence  tests/judge/test_paths.py. */
#ifndef WP_FOLLOW_H
#define WP_FOLLOW_H

#define WP_EXPLORE
#define WP_INSTRUMENT "explorer/instrument.h" /* its declarations */
#include "explorer/coroutine.h"
#include "explorer/program.h"
#include "stress.h"

enum { FOLLOW_NOBODY = -1 };

typedef struct follow_operation {
	int kind; /* enum explore_kind */
	char *place;
	unsigned size; /* bytes */
	uint64_t operand, expected;
	wp__explore_site site; /* a copy, because the actor's lies on its stack */
} follow_operation;

typedef struct follow_actor {
	follow_operation wants;
	uint64_t given; /* the result of the last operation */
	bool is_asleep, is_done;
	stress_result result;
} follow_actor;

extern follow_actor follow_actors[STRESS_ACTORS];
extern int follow_running; /* an actor, or FOLLOW_NOBODY: then operations happen at once */
extern int follow_events;  /* the number of events that are open */

uint64_t follow_read(const char *at, unsigned size);
void follow_write(char *at, unsigned size, uint64_t value);

/* The step has changed this place, or may have changed it. */
void follow_touch(char *place, unsigned size);

/* Does the operation on the memory and returns its result. */
uint64_t follow_do(const follow_operation *wants);

#endif
