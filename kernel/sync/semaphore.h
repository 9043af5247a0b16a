/* SPDX-License-Identifier: Apache-2.0
 * semaphore.h - a fair counting semaphore: requests of any size are served in order.
 *
 *   acquire n                                   release n
 *   [semaphore.1] nobody waits, n are free:     [semaphore.3] nobody waits: add n
 *                 take them                     under the queue's lock:
 *   under the queue's lock:                       [semaphore.4] add n, less the permits of each
 *     [semaphore.2] QUEUED; join the queue        waiter that comes first and can be served
 *   park; granted: done                         grant these waiters
 *   deadline: leave, and serve those behind
 *
 *   word     meaning
 *   QUEUED   A thread waits: the permits change only under the queue's lock.
 *   permits  The number of free permits.
 *
 * Usage         wp_semaphore_init(&semaphore, 4);
 *               if (wp_semaphore_acquire_until(&semaphore, 1, WP_FOREVER) == WP_OK) {
 *                       use_one_of_four();
 *                       wp_semaphore_release(&semaphore, 1);
 *               }
 *
 * Why it works  While a thread waits, every release, and every waiter that leaves the queue, serves
 *               the queue from its front as far as the permits go. So no permit stays idle that the
 *               first waiter could use. The thread that takes a waiter off the queue takes the
 *               permits on its behalf.
 * Prior art     Java's fair Semaphore and Tokio's Semaphore, where a large request is not overtaken
 *               either.
 * Not promised  That a releaser has acquired before. That small requests pass a large one that must
 *               wait.
 * Spec          specs/sync/Semaphore.tla: PermitBalance, NoIdlePermit, InOrder, Served.
 * Evidence      make check-specs T=Semaphore, make stress T=semaphore, wakeproof conform -t
 *               semaphore. */
#ifndef WP_SEMAPHORE_H
#define WP_SEMAPHORE_H

#include "thread/wait_queue.h"

/* The low bit of the word, and one permit in the bits above it. */
enum { WP_SEMAPHORE_QUEUED = 1, WP_SEMAPHORE_PERMIT = 2 };

#define WP_SEMAPHORE_PERMITS_MAX 0x7fffffffu

/* 24 bytes; zeroed, it has no permit. word: semaphore.1 to semaphore.8. lock: guards the queue,
 * `line`. */
typedef struct wp_semaphore {
	wp_atomic(uint32_t) word;
	wp_lock lock;
	wp_wait_queue line;
} wp_semaphore;

/* `permits`: at most WP_SEMAPHORE_PERMITS_MAX. [before it is shared | wait-free] */
WP_API void wp_semaphore_init(wp_semaphore *semaphore, uint32_t permits);

/* cdef: begin */
/* True: all `permits` were taken; false: none. [any thread | lock-free: retries when the word has
 * changed] */
WP_API bool wp_semaphore_try_acquire(wp_semaphore *semaphore, uint32_t permits);

/* Returns WP_OK; or WP_FORBIDDEN, and adds none, if there would be more than
 * WP_SEMAPHORE_PERMITS_MAX. [any thread | blocks shortly if threads wait] */
WP_API int wp_semaphore_release(wp_semaphore *semaphore, uint32_t permits);

/* The number of free permits; waiting threads may have a claim on them. [any thread | wait-free] */
WP_API uint32_t wp_semaphore_permits(wp_semaphore *semaphore);

/* True: taken. False: the waiter is queued; park, then call wp__waiter_check. [any thread | blocks
 * shortly] */
bool wp__semaphore_begin(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter);

/* Leaves the queue. True: it has left; false: it was granted the permits after all. [the waiter's
 * thread | blocks shortly] */
bool wp__semaphore_cancel(wp_semaphore *semaphore, wp_waiter *waiter);
/* cdef: end */

/* The complete operation: WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [any thread | blocks] */
int wp__semaphore_acquire(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter,
			  int64_t deadline_ns);
/* cdef: begin */
/* Takes all `permits`: WP_OK; or takes none: WP_TIMEOUT, WP_INTERRUPTED. [any thread | blocks] */
WP_API int wp_semaphore_acquire_until(wp_semaphore *semaphore, uint32_t permits,
				      int64_t deadline_ns);
/* cdef: end */

#endif
