/* SPDX-License-Identifier: Apache-2.0
 * semaphore.h - a fair counting semaphore: requests of any size are served in order.
 *
 *   acquire n                                   release n
 *   [semaphore.1] nobody waits, n are free:     [semaphore.3] nobody waits: add n
 *                 take them                     under the queue's lock:
 *   under the queue's lock:                       [semaphore.4] add n, less the permits of each
 *     [semaphore.2] QUEUED; join the queue        waiter at the front that can be served
 *   park; granted: done                         grant these waiters
 *   deadline: leave, and serve the others
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
 * Why it works  While a thread waits, each release serves the queue from its front, as far as the
 *               permits are enough. A waiter that leaves the queue does the same. So no permit
 *               stays free that the first waiter could use. The thread that takes a waiter off the
 *               queue takes the permits for it.
 * Prior art     Java's fair Semaphore and Tokio's Semaphore. There too, small requests do not
 *               overtake a large one.
 * Not promised  A thread may release permits that it has not acquired. Small requests do not pass a
 *               large one that must wait.
 * Spec          specs/sync/Semaphore.tla: PermitBalance, NoIdlePermit, InOrder, Served.
 * Evidence      make check-specs T=Semaphore, make stress T=semaphore, wakeproof conform -t
 *               semaphore. */
#ifndef WP_SEMAPHORE_H
#define WP_SEMAPHORE_H

#include "thread/wait_queue.h"

/* The low bit of the word, and the value of one permit in the bits above it. */
enum { WP_SEMAPHORE_QUEUED = 1, WP_SEMAPHORE_PERMIT = 2 };

#define WP_SEMAPHORE_PERMITS_MAX 0x7fffffffu

/* 24 bytes. A zeroed semaphore has no permits. `word` is read and written at semaphore.1 to
 * semaphore.8. `line` is the queue, and `lock` protects it. */
typedef struct wp_semaphore {
	wp_atomic(uint32_t) word;
	wp_lock lock;
	wp_wait_queue line;
} wp_semaphore;

/* Makes a semaphore with that many permits, at most WP_SEMAPHORE_PERMITS_MAX. [one thread, before
 * the semaphore is shared | wait-free] */
WP_API void wp_semaphore_init(wp_semaphore *semaphore, uint32_t permits);

/* cdef: begin */
/* Returns true if it took all `permits`, and false if it took none. [any thread | lock-free:
 * retries when the word has changed] */
WP_API bool wp_semaphore_try_acquire(wp_semaphore *semaphore, uint32_t permits);

/* Returns WP_OK. If there would be more than WP_SEMAPHORE_PERMITS_MAX permits, adds none and
 * returns WP_FORBIDDEN. [any thread | blocks briefly if threads wait] */
WP_API int wp_semaphore_release(wp_semaphore *semaphore, uint32_t permits);

/* Returns the number of free permits. Some of them may be needed for threads that wait. [any thread
 * | wait-free] */
WP_API uint32_t wp_semaphore_permits(wp_semaphore *semaphore);

/* Begins. Returns true if the permits were taken. Returns false if the waiter has joined the queue;
 * its thread must then park, and call wp__waiter_check. [any thread | blocks briefly] */
bool wp__semaphore_begin(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter);

/* Gives up. Returns true if the waiter has left the queue, and false if it was granted the permits
 * before. [the waiter's thread | blocks briefly] */
bool wp__semaphore_cancel(wp_semaphore *semaphore, wp_waiter *waiter);
/* cdef: end */

/* The complete operation. Returns WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [any thread | blocks] */
int wp__semaphore_acquire(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter,
			  int64_t deadline_ns);
/* cdef: begin */
/* Takes all `permits` and returns WP_OK, or takes none and returns WP_TIMEOUT or WP_INTERRUPTED.
 * [any thread | blocks] */
WP_API int wp_semaphore_acquire_until(wp_semaphore *semaphore, uint32_t permits,
				      int64_t deadline_ns);
/* cdef: end */

#endif
