/* SPDX-License-Identifier: Apache-2.0
 * futex.h - where an OS thread blocks: futex and eventfd, the clock, and a lock and a condition
 * made of futexes.
 *
 *   sleeper                              waker
 *   wait while *word = expected          change *word, then wake n
 *
 *   Usage    while (wp_load_acquire(&word) == 0)
 *                    wp_futex_wait(&word, 0, WP_FOREVER);
 *
 * Why it works  The operating system compares the word and queues the sleeper in one step. So if
 *               the word changes before the wait, the wait returns at once; if it changes later,
 *               the waker finds the sleeper in the queue. A return from the wait orders no memory
 *               accesses, so the caller reads its word again with acquire. Spurious wakeups are
 *               allowed, so callers loop.
 * Prior art     Linux futex(2). The lock is the three-state mutex of Drepper's "Futexes Are
 *               Tricky". It lets newcomers barge: a thread may take the free lock before a thread
 *               that waits for it, so a wait for the lock has no bound.
 * Spec          specs/wakeup/Parker.tla, Carrier.tla and Guard.tla contain the compare-and-queue
 *               step as one action.
 * Evidence      make stress T=parker. WP__SLEEP (instrument.h) reports each wait to the stress
 *               engine, and the engine's watchdog then finds lost wakeups. */
#ifndef WP_FUTEX_H
#define WP_FUTEX_H

#include "base/order.h"

/* cdef: begin */
#define WP_FOREVER 0x7fffffffffffffff /* INT64_MAX; as a deadline it means that there is none */
/* cdef: end */

/* Sleeps while *word = expected, until another thread wakes the caller or until deadline_ns
 * (CLOCK_MONOTONIC, absolute). If the deadline is in the past, the call does not sleep. Returns
 * WP_OK (woken, perhaps spuriously), WP_AGAIN (*word differs from expected), WP_TIMEOUT or
 * WP_INTERRUPTED. [any thread | blocks] */
int wp_futex_wait(wp_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns);

/* Wakes up to `count` sleepers and returns how many it woke. The word is only an address here, so
 * its memory may have been freed. [any thread | a system call] */
int wp_futex_wake(wp_atomic(uint32_t) *word, int count);

/* An event is an eventfd: a signal that is kept until it is taken, and for which a poller can wait.
 * wp_event_open returns -1 if the system has none left. [any thread | a system call] */
int wp_event_open(void);
void wp_event_close(int event);
void wp_event_signal(int event);
bool wp_event_take(int event); /* true: there was a signal */

/* cdef: begin */
/* Returns the time of CLOCK_MONOTONIC in nanoseconds. [any thread | wait-free] */
WP_API int64_t wp_clock_ns(void);
/* cdef: end */

/* 4 bytes, written by the threads that acquire and release the lock. A zeroed lock is free. 0:
 * free. 1: held, and no thread sleeps. 2: held, and some thread may sleep. */
typedef struct wp_lock {
	wp_atomic(uint32_t) state;
} wp_lock;

void wp_lock_acquire(wp_lock *lock); /* [any thread | blocks] */
void wp_lock_release(wp_lock *lock); /* [the holder | a system call if a thread sleeps] */

/* 4 bytes. `signals` counts the signals, and is written under the lock that the waiters use. A
 * signal wakes only a thread that waits at that moment; it is not kept. */
typedef struct wp_cond {
	wp_atomic(uint32_t) signals;
} wp_cond;

/* Releases the lock, sleeps until the deadline or until a signal that comes after the call, and
 * takes the lock again. Returns WP_OK (perhaps spuriously), WP_TIMEOUT or WP_INTERRUPTED. [the
 * holder of the lock | blocks] */
int wp_cond_wait(wp_cond *cond, wp_lock *lock, int64_t deadline_ns);
void wp_cond_signal(wp_cond *cond); /* [the lock's holder | a system call] */

#endif
