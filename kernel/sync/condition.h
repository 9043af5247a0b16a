/* SPDX-License-Identifier: Apache-2.0
 * condition.h - a condition variable: a signal wakes a thread that waited before it.
 *
 *   waiter, holding the mutex                signaller
 *   under the condition's lock:              [condition.1] nobody waits: done
 *     [condition.2] join the queue           under the condition's lock:
 *   unlock the mutex; park                     dequeue the first waiter (broadcast: all)
 *   granted: it holds the mutex again          [condition.2] waiting := not empty
 *   deadline, under the condition's lock:      lock the mutex on behalf of each: it is taken,
 *     still queued: leave, lock the mutex        or the waiter joins the mutex's queue
 *     else it waits for the mutex: go on     taken: grant the waiter
 *
 * Usage         wp_mutex_lock(&mutex);
 *               while (!is_ready)
 *                       wp_condition_wait_until(&condition, &mutex, WP_FOREVER);
 *               wp_mutex_unlock(&mutex);
 *
 * Why it works  A waiter joins the queue before it frees the mutex, so every thread that changes
 *               the guarded state afterwards finds the waiter there. A signal moves the waiter from
 *               this queue to the mutex's in one step under this lock. A deadline that passes later
 *               therefore finds the waiter moved, and does not swallow the signal. No waiter wakes
 *               only to sleep again at the mutex, so a broadcast causes no thundering herd.
 * Prior art     Wait morphing, as by Linux's FUTEX_CMP_REQUEUE.
 * Not promised  That the state a waiter waits for still holds when the waiter has the mutex. The
 *               waiter must check it again.
 * Spec          specs/sync/Condition.tla: NoLostSignal, SignalsNotSwallowed, HoldsMutex, Served.
 * Evidence      make check-specs T=Condition, make stress T=condition. */
#ifndef WP_CONDITION_H
#define WP_CONDITION_H

#include "sync/mutex.h"

/* 24 bytes; zeroed, it has no waiters. waiting: 1 if the queue is not empty (condition.1,
 * condition.2). lock: guards the queue, `line`. */
typedef struct wp_condition {
	wp_atomic(uint32_t) waiting;
	wp_lock lock;
	wp_wait_queue line;
} wp_condition;

/* [before it is shared | wait-free] */
WP_API void wp_condition_init(wp_condition *condition);

/* cdef: begin */
/* Wakes the waiter that has waited longest; wakes all waiters. A woken waiter needs the mutex
 * first, so it is best to call these while holding it. [any thread | blocks shortly if a thread
 * waits] */
WP_API void wp_condition_signal(wp_condition *condition);
WP_API void wp_condition_broadcast(wp_condition *condition);

/* Joins the queue and frees the mutex; the thread must park next. All threads that wait at one time
 * must use the same mutex. [the mutex's holder | blocks shortly] */
void wp__condition_begin(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* Call it after a park. True: the waiter was signalled and holds the mutex; false: park again. [the
 * waiter's thread | blocks shortly] */
bool wp__condition_check(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* Leaves the queue. True: the waiter was not signalled, and must lock the mutex. False: it was
 * signalled, so it waits for the mutex (park without a deadline) or has it (check). [the waiter's
 * thread | blocks shortly] */
bool wp__condition_cancel(wp_condition *condition, wp_waiter *waiter);
/* cdef: end */

/* The complete wait, as wp_condition_wait_until. [the mutex's holder | blocks] */
int wp__condition_wait(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter,
		       int64_t deadline_ns);
/* cdef: begin */
/* Frees the mutex, waits, and in every case locks it again. Returns WP_OK if signalled, else
 * WP_TIMEOUT or WP_INTERRUPTED. [the mutex's holder | blocks] */
WP_API int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

#endif
