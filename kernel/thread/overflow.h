/* SPDX-License-Identifier: Apache-2.0
 * overflow.h - reports a stack overflow with the thread's name before the process dies of it.
 *
 *   handler of the fault                 thread that makes or frees a pool of stacks
 *   on the alternate stack:              signals blocked; under the lock:
 *   under the lock, look for a pool      enter the pool into the list, or remove it
 *   that has the address in the guard
 *   of a stack, and sp in that stack
 *     found: report, then let the same
 *       fault kill the process
 *     else: call the previous handler
 *
 * Why it works  The handler may take the lock. A holder of the lock has these signals blocked, so
 *               the holder is another thread, and it needs only a few instructions. All that the
 *               handler reads of a slot was written before any code could run on that slot's stack.
 * Not promised  There is no report from a thread that does not watch its stacks, or from a child
 *               process that was forked while a pool was made. A handler that was set later runs
 *               first; if it then raises the signal anew, as Python's faulthandler does, there is
 *               no report.
 * Spec          None.
 * Evidence      tests/thread/test_overflow.py. */
#ifndef WP_OVERFLOW_H
#define WP_OVERFLOW_H

#include "thread/stack.h"

/* The alternate stack of one OS thread, and the one that the thread had before. */
typedef struct wp_stack_watch {
	void *memory, *before;
	size_t bytes, before_bytes;
	int before_flags;
} wp_stack_watch;

/* The first begins and the second ends the report of this thread's overflows. The first watch of
 * the process also takes SIGSEGV and SIGBUS, and the last one gives them back. Returns WP_OK, or
 * WP_SYSTEM and sets errno. [the thread | system calls] */
int wp_stack_watch_begin(wp_stack_watch *watch);
void wp_stack_watch_end(wp_stack_watch *watch);

/* The first adds the pool to those that the handler searches, and the second removes it. [the
 * thread that makes or frees the pool | blocks] */
void wp__overflow_enter(wp_stacks *pool);
void wp__overflow_leave(wp_stacks *pool);

/* Writes one line to stderr. [any thread, in a signal handler as well | a system call] */
void wp__overflow_report(const wp_stack *stack);

#endif
