/* SPDX-License-Identifier: Apache-2.0
 * coroutine.h - actors as stackful coroutines: the used part of a stack is the whole state.
 *
 *   engine                               actor
 *   resume(): onto the actor's stack     runs to its next shared operation
 *                                        pause(): registers onto the stack, back to the engine
 *
 * Why it works  A pause pushes every register that a call preserves, so the bytes from the stack
 *               pointer to the end of the stack are the whole state. Stacks lie at fixed addresses,
 *               so saved bytes can be restored later, including pointers into the stack.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_COROUTINE_H
#define WP_EXPLORER_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	EXPLORE_ARENA = 1 << 20, /* bytes of state and events */
	EXPLORE_STACK = 1 << 17, /* bytes per actor; a guard lies below each stack */
};

/* Fixed, so that addresses in stacks, hashes and tokens mean the same in each run. */
#define EXPLORE_BASE ((char *)0x100000000000)

/* False: the fixed addresses are taken. */
bool explore_map(void);
/* Saves the registers that a call preserves on this stack, and continues where `to` was left. */
void explore__switch(char **from, char *to);
/* Writes a frame below `end`, a multiple of 16, so that a switch to it enters `body`. */
char *explore_frame(char *end, void (*body)(void));
/* Called in a new process before any actor is resumed, because a fork does not inherit the
 * timer. */
bool explore_after_fork(void);
char *explore_stack_end(int actor); /* one past its highest byte */

/* The actor will begin with `body` when it is resumed. `reserve` bytes below the end of the stack
 * are left alone. */
void explore_begin(int actor, size_t reserve, void (*body)(void));
/* How a resumed actor came back. */
enum explore_return { EXPLORE_PAUSED, EXPLORE_LOOPS, EXPLORE_OVERFLOWS, EXPLORE_FAULTS };

/* The fault of an actor: it touched memory that is not there, divided by zero, or the like. */
typedef struct explore_fault {
	int signal;
	/* The address that was touched; the address of the instruction. */
	const void *address, *code;
} explore_fault;
extern explore_fault explore_last_fault; /* valid after EXPLORE_FAULTS */

/* Runs the actor until it pauses. It also returns if the actor has run for seconds without a pause,
 * has left its stack, or has touched memory that is not there; the actor can then never be resumed
 * as it is. */
enum explore_return explore_resume(int actor);
/* Runs `act` on the engine's stack, watched in the same way. EXPLORE_PAUSED: it returned. */
enum explore_return explore_alone(void (*act)(void *), void *of);
/* The function that explore_alone runs can never return: goes back to the caller. */
_Noreturn void explore_escape(enum explore_return how);
/* Called by the running actor: goes back to explore_resume. */
void explore_pause(void);
/* The used bytes of the paused actor, from here to the end of its stack. */
const char *explore_used(int actor);
/* Restores `size` used bytes of this actor, and zeroes the bytes below. */
void explore_restore(int actor, const char *bytes, size_t size);

#endif
