/* SPDX-License-Identifier: Apache-2.0
 * semaphore.h - permits, taken some at a time and in order: a large request is not overtaken.
 *
 *   acquire n                                       release n
 *   [semaphore.1] nobody waits, n there: take them  [semaphore.3] nobody waits: add them
 *   under the list's lock:                          under the list's lock:
 *     [semaphore.2] QUEUED; get in line         [semaphore.4] add them, less those of each that
 *   park; granted: done                                 comes first and can be served
 *   too late: get out, and serve those behind   grant these
 *
 *   word     means
 *   QUEUED   somebody is in line: permits change under the list's lock alone
 *   permits  free ones
 *
 * Why it works  While somebody waits, every release and every way out of the line serves from its
 *               front as far as the permits go, so none stays idle that the first could use.
 *               Permits are taken in the waiter's name by whoever takes it off the line.
 * Not promised  That who releases had acquired. That small requests pass a large one that must
 *               wait.
 * Spec          specs/sync/Semaphore.tla: PermitBalance, NoIdlePermit, InOrder, Served.
 * Evidence      make check-specs T=Semaphore, make stress T=semaphore, wakeproof conform -t
 *               semaphore. */
#ifndef WP_SEMAPHORE_H
#define WP_SEMAPHORE_H

#include "thread/wait_queue.h"

/* Values of the word; the permits are in what is left. */
enum { WP_SEMAPHORE_QUEUED = 1, WP_SEMAPHORE_PERMIT = 2 };

#define WP_SEMAPHORE_PERMITS_MAX 0x7fffffffu

/* 24 bytes. Zeroed has no permit. word: semaphore.1..YS5. lock: of the list. line: under it. */
typedef struct wp_semaphore {
	wp_atomic(uint32_t) word;
	wp_lock lock;
	wp_wait_queue line;
} wp_semaphore;

/* permits: at most WP_SEMAPHORE_PERMITS_MAX. [before it is shared | wait-free] */
WP_API void wp_semaphore_init(wp_semaphore *semaphore, uint32_t permits);

/* cdef: begin */
/* True: taken. [any thread | lock-free: retries when the word has changed] */
WP_API bool wp_semaphore_try_acquire(wp_semaphore *semaphore, uint32_t permits);

/* WP_OK, or WP_FORBIDDEN: there would be more than WP_SEMAPHORE_PERMITS_MAX, none is added. [any
 * thread | blocks shortly if others wait] */
WP_API int wp_semaphore_release(wp_semaphore *semaphore, uint32_t permits);

/* Free permits; those that wait have a claim on them. [any thread | wait-free] */
WP_API uint32_t wp_semaphore_permits(wp_semaphore *semaphore);

/* True: taken; false: in line, park. Then wp__waiter_check. [any thread | blocks shortly] */
bool wp__semaphore_begin(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter);

/* Gets out of the line. True: out; false: it has them after all. [the waiter's thread | blocks
 * shortly] */
bool wp__semaphore_cancel(wp_semaphore *semaphore, wp_waiter *waiter);
/* cdef: end */

/* All as one: WP_OK, WP_TIMEOUT, WP_INTERRUPTED. [any thread | blocks] */
int wp__semaphore_acquire(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter,
			  int64_t deadline_ns);
/* cdef: begin */
WP_API int wp_semaphore_acquire_until(wp_semaphore *semaphore, uint32_t permits,
				      int64_t deadline_ns);
/* cdef: end */

#endif
