/* SPDX-License-Identifier: Apache-2.0
 * overflow.h - a stack overflow is reported with the thread's name before the process dies of it.
 *
 *   the fault                            whoever makes or frees a pool
 *   on the alternate stack:              signals blocked; under the lock:
 *   under the lock, look for a pool      enter it, or take it out
 *   one of whose guards was touched
 *   by its own stack: report, default
 *   action, once more
 *   else: the handler that was before
 *
 * Why it works  The handler may take the lock: who holds it has these signals blocked, so it is
 *               another thread, which needs a few instructions. What it reads of a slot was written
 *               before somebody could run there.
 * Not promised  A report from a thread that does not watch, or from a child forked while a pool was
 *               made. A handler that was set later is asked first; one that then raises the signal
 *               anew, as Python's faulthandler does, gets no report.
 * Spec          none.
 * Evidence      tests/thread/test_overflow.py. */
#ifndef WP_OVERFLOW_H
#define WP_OVERFLOW_H

#include "thread/stack.h"

/* One OS thread's alternate stack, and the one it had. */
typedef struct wp_stack_watch {
	void *memory, *before;
	size_t bytes, before_bytes;
	int before_flags;
} wp_stack_watch;

/* From here to the end this thread's overflows are reported. The first of the process also takes
 * SIGSEGV and SIGBUS, which the last gives back. WP_OK, or WP_SYSTEM and errno.
 * [the thread | system calls] */
int wp_stack_watch_begin(wp_stack_watch *watch);
void wp_stack_watch_end(wp_stack_watch *watch);

/* [whoever makes or frees the pool | blocks] */
void wp__overflow_enter(wp_stacks *pool);
void wp__overflow_leave(wp_stacks *pool);

/* One line on stderr. [any thread, in a signal handler as well | a system call] */
void wp__overflow_report(const wp_stack *stack);

#endif
