/* SPDX-License-Identifier: Apache-2.0
 * overflow.h - reports a stack overflow with the thread's name before the process dies of it.
 *
 *   the fault                            maker of a pool, and the thread that frees it
 *   on the alternate stack:              signals blocked; under the lock:
 *   under the lock, look for a pool      enter it, or take it out
 *   with a guard that was touched
 *   by its own stack: report, then the
 *   default action on the same fault
 *   else: the previous handler
 *
 * Why it works  The handler may take the lock: its holder has these signals blocked, so the holder
 *               is another thread, and needs a few instructions. All that the handler reads of a
 *               slot was written before any code could run there.
 * Not promised  A report from a thread that does not watch, or from a child that was forked while a
 *               pool was made. A handler that was set later runs first; if it then raises the
 *               signal anew, as Python's faulthandler does, there is no report.
 * Spec          None.
 * Evidence      tests/thread/test_overflow.py. */
#ifndef WP_OVERFLOW_H
#define WP_OVERFLOW_H

#include "thread/stack.h"

/* One OS thread's alternate stack, and the one that it had before. */
typedef struct wp_stack_watch {
	void *memory, *before;
	size_t bytes, before_bytes;
	int before_flags;
} wp_stack_watch;

/* Begins and ends the report of this thread's overflows. The first watch of the process also takes
 * SIGSEGV and SIGBUS, and the last one gives them back. WP_OK, or WP_SYSTEM and errno.
 * [the thread | system calls] */
int wp_stack_watch_begin(wp_stack_watch *watch);
void wp_stack_watch_end(wp_stack_watch *watch);

/* Adds the pool to those that the handler searches, or removes it.
 * [the thread that makes or frees the pool | blocks] */
void wp__overflow_enter(wp_stacks *pool);
void wp__overflow_leave(wp_stacks *pool);

/* Writes one line to stderr. [any thread, in a signal handler as well | a system call] */
void wp__overflow_report(const wp_stack *stack);

#endif
