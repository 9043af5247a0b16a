/* SPDX-License-Identifier: Apache-2.0
 * coroutine.h - actors as coroutines whose whole state is the used part of a stack.
 *
 *   engine                               actor
 *   resume(): onto the actor's stack     runs to its next shared operation
 *                                        pause(): registers onto the stack, back to the engine
 *
 * Why it works  A pause pushes every register that a call preserves, so the bytes from the stack
 *               pointer to the stack's end are all there is. Stacks lie at fixed addresses: bytes
 *               that were saved can be put back, pointers into them included.
 * Spec          none. Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_COROUTINE_H
#define WP_EXPLORER_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	EXPLORE_ARENA = 1 << 20, /* bytes of state and events */
	EXPLORE_STACK = 1 << 17, /* bytes per actor; below each, a guard */
};

/* Fixed, so that addresses in stacks, hashes and tokens mean the same in each run. */
#define EXPLORE_BASE ((char *)0x100000000000)

/* False: the fixed addresses are taken. */
bool explore_map(void);
/* In a new process, before any actor is resumed: it has no timer of its own yet. */
bool explore_after_fork(void);
char *explore_stack_end(int actor); /* one past its highest byte */

/* Makes the actor begin with `body` when it is resumed; `reserve` bytes below the stack's end are
 * left alone. */
void explore_begin(int actor, size_t reserve, void (*body)(void));
/* How a resumed actor came back. */
enum explore_return { EXPLORE_PAUSED, EXPLORE_LOOPS, EXPLORE_OVERFLOWS, EXPLORE_FAULTS };

/* What touched memory that is not there, or divided by zero, and the like. */
typedef struct explore_fault {
	int signal;
	const void *address, *code; /* that was touched; of the instruction */
} explore_fault;
extern explore_fault explore_last_fault; /* after EXPLORE_FAULTS */

/* Runs the actor until it pauses; or until it has used seconds without a pause, has left its stack,
 * or has touched memory that is not there: then it can never be resumed as it is. */
enum explore_return explore_resume(int actor);
/* Runs `act` on the engine's stack, watched the same way. EXPLORE_PAUSED: it has returned. */
enum explore_return explore_alone(void (*act)(void *), void *of);
/* What explore_alone runs can never return: back to its caller. */
_Noreturn void explore_escape(enum explore_return how);
/* Called by the running actor: back to whoever resumed it. */
void explore_pause(void);
/* The paused actor's used bytes: from there to the stack's end. */
const char *explore_used(int actor);
/* Puts `size` bytes that were used by this actor back, and zeroes what lies below. */
void explore_restore(int actor, const char *bytes, size_t size);

#endif
