/* SPDX-License-Identifier: Apache-2.0
 * parker.h - lets one thread, the owner, sleep until another thread wakes it. The wakeup is a
 * permit: unpark gives the permit, and park takes it, or sleeps until there is one.
 *
 *   owner (park)                                    any thread (unpark)
 *   [parker.1] permit? take it: done                [parker.4] set PERMIT, by a read-modify-write;
 *   [parker.2] 0 to PARKED, else look again                    PARKED was set and PERMIT was not:
 *              sleep while the word is PARKED                  wake the owner
 *   [parker.3] clear PARKED and PERMIT in one step  owner or closer (close)
 *              PERMIT was set: done                 [parker.5] set CLOSED; wake the owner
 *              CLOSED was set: return closed
 *              the time is over: return timeout
 *              else begin again
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
 * Why it works  One word holds the permit and the sleeper, so giving the permit and falling asleep
 *               are ordered. parker.3 reads and clears in one step, so a permit that comes just
 *               when the time is over is taken and not erased. parker.4 writes even if the permit
 *               is there, because only a write continues the release sequence that carries the data
 *               of this unparker.
 * Not promised  A park is not matched to a certain one of several unparks, and there is no
 *               fairness. A park may take a permit that was given long ago.
 * Prior art     Java's LockSupport, and the thread parker of parking_lot and of Rust's std.
 * Spec          specs/wakeup/Parker.tla: PermitAtMostOne, UnparkNotLost, HappensBefore.
 * Evidence      make check-specs T=Parker, make stress T=parker. */
#ifndef WP_PARKER_H
#define WP_PARKER_H

#include "base/order.h"

#define WP_PARKER_PERMIT 1u /* given and not yet taken */
#define WP_PARKER_PARKED 2u /* the owner sleeps, or is about to */
#define WP_PARKER_CLOSED 4u /* for good */

/* 4 bytes. The word is written by the owner (parker.1, parker.2, parker.3), by unparkers
 * (parker.4), and by the thread that closes the parker (parker.5). */
typedef struct wp_parker {
	wp_atomic(uint32_t) word;
} wp_parker;

/* Makes an open parker without a permit. [one thread, before the parker is shared | wait-free] */
WP_API void wp_parker_init(wp_parker *parker);

/* cdef: begin */
/* Gives the permit. Returns true if this call gave it. Returns false if the permit was there
 * already, or if the parker is closed; one last park may then still take the permit. The parker may
 * be deallocated once a park has returned WP_OK and no other unpark or close can come: the wake of
 * this call may come later than that, but it uses only the address. [any thread | one system call
 * if the owner sleeps] */
WP_API bool wp_parker_unpark(wp_parker *parker);

/* Takes the permit, and sleeps until there is one. Returns WP_OK or WP_CLOSED. A permit that was
 * given before the close is still taken. [owner | blocks] */
WP_API int wp_parker_park(wp_parker *parker);

/* Like wp_parker_park, but only until deadline_ns (CLOCK_MONOTONIC, absolute). A deadline of 0 or
 * in the past does not sleep. Returns WP_OK, WP_TIMEOUT or WP_CLOSED. [owner | blocks] */
WP_API int wp_parker_park_until(wp_parker *parker, int64_t deadline_ns);

/* Like wp_parker_park_until, but also returns WP_INTERRUPTED if a handler of a POSIX signal ran
 * during the sleep and was installed without SA_RESTART. This is for a thread that must then run
 * the signal handlers of an interpreter. A handler that ran just before the sleep is not noticed.
 * [owner | blocks] */
WP_API int wp_parker_park_interruptible(wp_parker *parker, int64_t deadline_ns);

/* Closes the parker. Every later park without a permit returns WP_CLOSED, and a sleeping one does
 * so at once. Both see what was written before the close. [any thread | a system call] */
WP_API void wp_parker_close(wp_parker *parker);
/* cdef: end */

#endif
