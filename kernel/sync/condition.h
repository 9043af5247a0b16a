/* SPDX-License-Identifier: Apache-2.0
 * condition.h - a condition variable. A signal wakes one thread that waits, and a broadcast wakes
 * all of them; neither has an effect on threads that begin to wait later.
 *
 *   waiter, holding the mutex                signaller
 *   under the condition's lock:              [condition.1] nobody waits: done
 *     [condition.2] join the queue           under the condition's lock:
 *   unlock the mutex; park                     dequeue the first waiter (broadcast: all)
 *   granted: it holds the mutex again          [condition.2] waiting := is the queue not empty?
 *   deadline, under the condition's lock:      begin a lock of the mutex for each waiter: the
 *     still queued: leave, lock the mutex        waiter gets the mutex, or joins its queue
 *     else wait for the mutex                grant each waiter that got the mutex
 *
 * Usage         wp_mutex_lock(&mutex);
 *               while (!is_ready)
 *                       wp_condition_wait_until(&condition, &mutex, WP_FOREVER);
 *               wp_mutex_unlock(&mutex);
 *
 * Why it works  A waiter joins the queue before it unlocks the mutex. So every thread that later
 *               locks the mutex and changes the guarded state finds the waiter in the queue. A
 *               signal moves the waiter from this queue to the queue of the mutex, in one step
 *               under the condition's lock. If the waiter's deadline passes afterwards, the waiter
 *               finds that it was moved, and does not swallow the signal. No waiter wakes only to
 *               sleep again at the mutex, so a broadcast does not make many threads compete for the
 *               mutex at once.
 * Prior art     Linux's FUTEX_CMP_REQUEUE moves waiters in the same way (wait morphing).
 * Not promised  The state that a waiter waits for may no longer hold when the waiter has the mutex
 *               again. So the waiter must check it again.
 * Spec          specs/sync/Condition.tla: NoLostSignal, SignalsNotSwallowed, HoldsMutex, Served.
 * Evidence      make check-specs T=Condition, make stress T=condition. */
#ifndef WP_CONDITION_H
#define WP_CONDITION_H

#include "sync/mutex.h"

/* 24 bytes. A zeroed condition has no waiters. `waiting` is 1 if the queue is not empty
 * (condition.1, condition.2). `line` is the queue, and `lock` protects it. */
typedef struct wp_condition {
	wp_atomic(uint32_t) waiting;
	wp_lock lock;
	wp_wait_queue line;
} wp_condition;

/* Makes a condition without waiters. [one thread, before the condition is shared | wait-free] */
WP_API void wp_condition_init(wp_condition *condition);

/* cdef: begin */
/* The first wakes the waiter that has waited longest; the second wakes all waiters. A woken waiter
 * first needs the mutex, so it is best to call these while holding the mutex. [any thread | blocks
 * briefly if a thread waits] */
WP_API void wp_condition_signal(wp_condition *condition);
WP_API void wp_condition_broadcast(wp_condition *condition);

/* Begins a wait: joins the queue and unlocks the mutex. The caller's thread must park next. All
 * threads that wait at the same time must use the same mutex. [the mutex's holder | blocks briefly]
 */
void wp__condition_begin(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* Checks after a park. Returns true if the waiter was signalled and holds the mutex. Returns false
 * if its thread must park again. [the waiter's thread | blocks briefly] */
bool wp__condition_check(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter);

/* Gives up. Returns true if the waiter was not signalled; it has left the queue, and its thread
 * must lock the mutex. Returns false if the waiter was signalled before. Then it holds the mutex
 * already or is in the queue of the mutex: the thread must call check, and while check returns
 * false, park without a deadline. [the waiter's thread | blocks briefly] */
bool wp__condition_cancel(wp_condition *condition, wp_waiter *waiter);
/* cdef: end */

/* The complete wait, like wp_condition_wait_until. [the mutex's holder | blocks] */
int wp__condition_wait(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter,
		       int64_t deadline_ns);
/* cdef: begin */
/* Unlocks the mutex, waits, and in every case locks the mutex again. Returns WP_OK if a signal or a
 * broadcast woke the caller, else WP_TIMEOUT or WP_INTERRUPTED. [the mutex's holder | blocks] */
WP_API int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

#endif
