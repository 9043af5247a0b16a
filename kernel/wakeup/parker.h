/* SPDX-License-Identifier: Apache-2.0
 * parker.h - one permit for one thread: unpark gives it, park takes it or sleeps until it comes.
 *
 *   owner (park)                                    any thread (unpark)
 *   [parker.1] permit? take it: done                [parker.4] set PERMIT, by a read-modify-write
 *   [parker.2] 0 to PARKED, else look again                    it was PARKED, not PERMIT: wake
 *              sleep while the word is PARKED       owner or closer (close)
 *   [parker.3] clear PARKED and PERMIT in one step  [parker.5] set CLOSED; wake
 *              it had PERMIT: done; CLOSED: closed;
 *              timed out: timeout; else again
 *
 *   Usage    owner:    while (!wp_load_acquire(&ready))
 *                             wp_parker_park(&parker);
 *            waker:    wp_store_release(&ready, true);
 *                      wp_parker_unpark(&parker);
 *
 *   word      meaning
 *   0         The parker is open, without a permit, and its owner is awake.
 *   PERMIT    The permit was given and is not yet taken.
 *   PARKED    The owner sleeps, or is about to.
 *   CLOSED    The parker is closed for good; a last permit may still be there.
 *
 * Why it works  One word holds permit and sleeper, so giving and falling asleep are ordered.
 *               parker.3 reads and clears in one step: a permit that comes with the timeout is
 *               taken, not erased. parker.4 writes even if the permit is there, because only a
 *               write continues the release sequence that carries this unparker's data.
 * Not promised  Which of several unparks a park belongs to; fairness. A park may take a permit left
 *               long ago.
 * Prior art     Java's LockSupport, and the thread parker of parking_lot and of Rust's std.
 * Spec          specs/wakeup/Parker.tla: PermitAtMostOne, UnparkNotLost, HappensBefore.
 * Evidence      make check-specs T=Parker, make stress T=parker. */
#ifndef WP_PARKER_H
#define WP_PARKER_H

#include "base/order.h"

#define WP_PARKER_PERMIT 1u /* given and not yet taken */
#define WP_PARKER_PARKED 2u /* the owner sleeps, or is about to */
#define WP_PARKER_CLOSED 4u /* for good */

/* 4 bytes. Written by the owner (parker.1, parker.2, parker.3), unparkers (parker.4), and the
 * thread that closes (parker.5). */
typedef struct wp_parker {
	wp_atomic(uint32_t) word;
} wp_parker;

/* The parker is open and has no permit. [before it is shared | wait-free] */
WP_API void wp_parker_init(wp_parker *parker);

/* cdef: begin */
/* Gives the permit. True if this call gave it; false if the permit was there already, or if the
 * parker is closed (then one last park may still take it). Once a park has returned WP_OK and no
 * other unpark or close can come, the parker may be freed: this call's wake then uses its address
 * only. [any thread | one system call if the owner sleeps] */
WP_API bool wp_parker_unpark(wp_parker *parker);

/* Takes the permit, sleeping until it comes: WP_OK or WP_CLOSED. A permit given before the close is
 * still taken. [owner | blocks] */
WP_API int wp_parker_park(wp_parker *parker);

/* The same, until deadline_ns (CLOCK_MONOTONIC, absolute; 0 or a past one does not sleep): WP_OK,
 * WP_TIMEOUT or WP_CLOSED. [owner | blocks] */
WP_API int wp_parker_park_until(wp_parker *parker, int64_t deadline_ns);

/* The same, but returns WP_INTERRUPTED when a handler that was installed without SA_RESTART ran
 * during the sleep: for a thread that must run an interpreter's handlers. A handler that ran just
 * before the sleep is not noticed. [owner | blocks] */
WP_API int wp_parker_park_interruptible(wp_parker *parker, int64_t deadline_ns);

/* Closes the parker: every later park without a permit returns WP_CLOSED, and a sleeping one does
 * so at once. Both see what was written before the close. [any thread | a system call] */
WP_API void wp_parker_close(wp_parker *parker);
/* cdef: end */

#endif
