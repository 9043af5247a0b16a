/* SPDX-License-Identifier: Apache-2.0
 * parker.h - one permit for one thread: unpark gives it, park takes it or sleeps until it comes.
 *
 *   owner (park)                                    any thread (unpark)
 *   [parker.1] permit? take it: done                [parker.4] set PERMIT, always by a read-modify-write
 *   [parker.2] 0 to PARKED, else look again               old had PARKED and no PERMIT: wake
 *         sleep while the word is PARKED            owner or closer (close)
 *   [parker.3] clear PARKED and PERMIT in one step  [parker.5] set CLOSED; wake
 *         had PERMIT: done; CLOSED; late; else again
 *
 * Why it works  One word holds permit and sleeper, so giving and falling asleep are ordered.
 *               parker.3 reads and clears in one step: a permit that comes with the timeout is
 *               taken, not erased. parker.4 writes even if the permit is there: only a write
 *               continues the release sequence that carries this unparker's data.
 * Not promised  Which of several unparks a park belongs to; fairness. A park may take a permit
 *               left long ago.
 * Spec          specs/wakeup/Parker.tla: PermitAtMostOne, UnparkNotLost, HappensBefore.
 * Evidence      make check-specs T=Parker, make stress T=parker. */
#ifndef WP_PARKER_H
#define WP_PARKER_H

#include "base/order.h"

#define WP_PARKER_PERMIT 1u /* given and not yet taken */
#define WP_PARKER_PARKED 2u /* the owner sleeps, or is about to */
#define WP_PARKER_CLOSED 4u /* for good */

/* 4 bytes. Writers: the owner (parker.1, parker.2, parker.3), unparkers (parker.4), whoever closes
 * (parker.5). */
typedef struct wp_parker {
	wp_atomic(uint32_t) word;
} wp_parker;

WP_API void
wp_parker_init(wp_parker *parker); /* no permit, open [before it is shared | wait-free] */

/* cdef: begin */
/* Gives the permit. True: there was none, this call gave it; false: it was there already, or the
 * parker is closed (one last park may still take it). When a park has returned WP_OK and no other
 * unpark or close can come, the parker may be freed: this call's wake then names an address only.
 * [any thread | one system call if the owner sleeps] */
WP_API bool wp_parker_unpark(wp_parker *parker);

/* Takes the permit, sleeping until it comes: WP_OK or WP_CLOSED. A permit given before the close is
 * still taken. [owner | blocks] */
WP_API int wp_parker_park(wp_parker *parker);

/* The same until deadline_ns (CLOCK_MONOTONIC, absolute; 0 or past: does not sleep): WP_OK,
 * WP_TIMEOUT, WP_CLOSED. [owner | blocks] */
WP_API int wp_parker_park_until(wp_parker *parker, int64_t deadline_ns);

/* The same, and WP_INTERRUPTED when a handler that was installed without SA_RESTART ran during the
 * sleep: for a thread that must run an interpreter's handlers. One that ran just before it is not
 * noticed. [owner | blocks] */
WP_API int wp_parker_park_interruptible(wp_parker *parker, int64_t deadline_ns);

/* Every later park without a permit returns WP_CLOSED, a sleeping one at once; it sees what was
 * written before the close. [any thread | a system call] */
WP_API void wp_parker_close(wp_parker *parker);
/* cdef: end */

#endif
