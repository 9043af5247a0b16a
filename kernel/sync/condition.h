/* SPDX-License-Identifier: Apache-2.0
 * condition.h - waits for a change of what a mutex guards; a signal wakes who waited before it.
 *
 *   waiter, holding the mutex                signaller
 *   under the condition's lock:              [condition.1] nobody waits: done
 *     [condition.2] get in line              under the condition's lock:
 *   unlock the mutex; park                     take the first off the line, all for a broadcast
 *   granted: it holds the mutex again          [condition.2] the line is empty
 *   too late, under the condition's lock:      lock the mutex in its name: taken, or in line there
 *     in line: get out, then lock the mutex  taken: grant it
 *     else it waits for the mutex: go on
 *
 * Why it works  A waiter is in line before it frees the mutex, so whoever changes something after
 *               it finds it there. A signal moves a waiter from this line to the mutex's in one
 *               step under this lock: a deadline that comes later finds it moved, and does not
 *               swallow the signal. Nobody is woken only to sleep again at the mutex: a broadcast
 *               is no stampede.
 * Not promised  That what a waiter waits for still holds when it has the mutex: it looks again.
 * Spec          specs/sync/Condition.tla: NoLostSignal, SignalsNotSwallowed, HoldsMutex, Served.
 * Evidence      make check-specs T=Condition, make stress T=condition. */
#ifndef WP_CONDITION_H
#define WP_CONDITION_H

#include "sync/mutex.h"

/* 24 bytes. Zeroed is empty. waiting: condition.1, condition.2, 1: the line is not empty. lock: of
 * the line. */
typedef struct wp_condition {
	wp_atomic(uint32_t) waiting;
	wp_lock lock;
	wp_wait_queue line;
} wp_condition;

/* [before it is shared | wait-free] */
WP_API void wp_condition_init(wp_condition *condition);

/* cdef: begin */
/* Wakes who waits longest; all. They need the mutex first: best called by its holder. [any thread |
 * blocks shortly if somebody waits] */
WP_API void wp_condition_signal(wp_condition *condition);
WP_API void wp_condition_broadcast(wp_condition *condition);

/* In line, and the mutex is free: park. All who wait at one time must use one mutex. [the mutex's
 * holder | blocks shortly] */
void wp__condition_begin(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* After a park. True: signalled, and it holds the mutex; false: park again. [the waiter's
 * thread | blocks shortly] */
bool wp__condition_check(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* Gets out of the line. True: not signalled: lock the mutex; false: signalled: it waits for the
 * mutex, park without a deadline, or has it: check. [the waiter's thread | blocks shortly] */
bool wp__condition_cancel(wp_condition *condition, wp_waiter *waiter);
/* cdef: end */

/* All as one; it holds the mutex again, whatever is said: WP_OK: signalled; WP_TIMEOUT,
 * WP_INTERRUPTED: it was not. [the mutex's holder | blocks] */
int wp__condition_wait(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter,
		       int64_t deadline_ns);
/* cdef: begin */
WP_API int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

#endif
