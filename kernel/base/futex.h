/* SPDX-License-Identifier: Apache-2.0
 * futex.h - where a thread blocks: wait, wake, events, the clock, and the lock and condition made
 * of futexes.
 *
 *   sleeper                              waker
 *   wait while *word = expected          change *word, then wake n
 *
 * Why it works  The system compares and queues in one step, so a change before the wait makes it
 *               return at once and a change after it finds the sleeper in the queue. A return
 *               orders nothing: the caller reads its word again with acquire. Spurious returns
 *               are allowed; callers loop.
 * Spec          specs/wakeup/Parker.tla, Carrier.tla and Guard.tla contain the compare-and-queue
 *               step as one action.
 * Evidence      make stress T=parker.
 *
 * The stress engine learns of each wait by WP__SLEEP (instrument.h): its watchdog proves missed
 * wakeups. */
#ifndef WP_FUTEX_H
#define WP_FUTEX_H

#include "base/order.h"

/* cdef: begin */
#define WP_FOREVER 0x7fffffffffffffff /* INT64_MAX; as a deadline: none */
/* cdef: end */

/* Sleeps while *word is expected, until woken or until deadline_ns, CLOCK_MONOTONIC, absolute; a
 * deadline in the past does not sleep. WP_OK (woken, perhaps for nothing), WP_AGAIN, WP_TIMEOUT,
 * WP_INTERRUPTED. [any thread | blocks] */
int wp_futex_wait(wp_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns);

/* Wakes up to `count` sleepers and says how many. The word may be freed memory: it is only an
 * address here. [any thread | a system call] */
int wp_futex_wake(wp_atomic(uint32_t) *word, int count);

/* An event that is kept until it is taken, and that a poller can wait for: an eventfd. -1: the
 * system has none left. [any thread | a system call] */
int wp_event_open(void);
void wp_event_close(int event);
void wp_event_signal(int event);
bool wp_event_take(int event); /* true: there was a signal */

/* cdef: begin */
/* CLOCK_MONOTONIC in nanoseconds. [any thread | wait-free] */
WP_API int64_t wp_clock_ns(void);
/* cdef: end */

/* 4 bytes: 0 free, 1 held, 2 held and somebody may sleep. Written by whoever locks and unlocks.
 * Zeroed is free. */
typedef struct wp_lock {
	wp_atomic(uint32_t) state;
} wp_lock;

void wp_lock_acquire(wp_lock *lock); /* [any thread | blocks] */
void wp_lock_release(wp_lock *lock); /* [the holder | a system call if somebody sleeps] */

/* 4 bytes, counts signals; written under the lock. A signal is not sticky: it wakes who waits now.
 */
typedef struct wp_cond {
	wp_atomic(uint32_t) signals;
} wp_cond;

/* Releases the lock, sleeps until a signal that comes after the call or the deadline, takes the
 * lock again. WP_OK (perhaps spurious), WP_TIMEOUT or WP_INTERRUPTED. [the lock's holder | blocks]
 */
int wp_cond_wait(wp_cond *cond, wp_lock *lock, int64_t deadline_ns);
void wp_cond_signal(wp_cond *cond); /* [the lock's holder | a system call] */

#endif
