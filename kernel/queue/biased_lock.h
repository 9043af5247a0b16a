/* SPDX-License-Identifier: Apache-2.0
 * biased_lock.h - biased consumer lock: the owner always gets it, a stealer never waits.
 *
 *   owner                                       stealer
 *   [biased_lock.1] my := fetch_add(next, 1)    [biased_lock.3] s := serving
 *   [biased_lock.2] until serving = my: pause,  [biased_lock.4] compare-and-swap(next, s, s + 1), once; lost: give up
 *                   then yield the CPU
 *   [biased_lock.5] serving := my + 1           [biased_lock.5] serving := s + 1
 *
 * Why it works  serving <= next always, so next = s proves that nobody holds or waits: the
 *               stealer is served at once. The owner's place in the queue is given by one
 *               fetch-and-add: at most the holder is before it. 64-bit counters do not wrap.
 * Not promised  That the owner is not delayed: a stealer may lose its CPU while it holds the
 *               lock. The owner then yields. Under SCHED_FIFO or SCHED_RR that gives the CPU to no
 *               thread of lower priority: an owner above its stealer, on the same CPU, spins until
 *               the system's real-time limit (kernel.sched_rt_runtime_us: 0.95 s of each second)
 *               lets it run, and for ever where that limit is off. So threads that share a queue
 *               have one policy and one priority: all carriers of a steal domain, and whoever
 *               closes or submits to them.
 * Spec          specs/queue/BiasedLock.tla: SingleConsumer, StealerNeverWaits, OwnerAlwaysServed.
 * Evidence      make check-specs T=BiasedLock, make stress T=biased_lock. */
#ifndef WP_BIASED_LOCK_H
#define WP_BIASED_LOCK_H

#include "base/order.h"

/* Explored, numbers wrap early: a loop of lost turns then comes back to a state that was there
 * before. Nobody holds a number for 256 turns in a scenario. */
#ifndef WP_TICKET_NUMBER
#define WP_TICKET_NUMBER uint64_t
#endif
typedef WP_TICKET_NUMBER wp__biased_lock_number;

/* 128 bytes. Both words on one line: owner and stealer touch both in each turn, and measured with
 * two of them one line moves faster than two (make bench T=layout). next: biased_lock.1,
 * biased_lock.4. serving: biased_lock.5. */
typedef struct wp_biased_lock {
	_Alignas(WP_LINE) wp_atomic(wp__biased_lock_number) next;
	wp_atomic(wp__biased_lock_number) serving;
} wp_biased_lock;

_Static_assert(sizeof(wp_biased_lock) % WP_LINE == 0, "the ticket shares its line");

WP_INLINE void
wp_biased_lock_init(wp_biased_lock *ticket) /* free [before it is shared | wait-free] */
{
	wp_init(&ticket->next, 0);
	wp_init(&ticket->serving, 0);
}

/* Takes the lock; give what it returns to release. [the owner | waits for at most one stealer] */
WP_INLINE uint64_t wp_biased_lock_acquire(wp_biased_lock *ticket)
{
	/* [biased_lock.1] relaxed: atomicity is enough, biased_lock.2 acquires; pairs
	 * biased_lock.4; upholds BiasedLock!OwnerAlwaysServed. */
	uint64_t my = wp_fetch_add_relaxed(&ticket->next, 1);
	unsigned turns = 0;

	/* [biased_lock.2] acquire; pairs biased_lock.5; upholds BiasedLock!SingleConsumer: what the
	 * last holder did is seen.
	 */
	while (wp_load_acquire(&ticket->serving) != my)
		wp_wait_a_turn(&turns);
	return my;
}

/* Takes the lock if nobody has it or waits for it. [any thread | wait-free] */
WP_INLINE bool wp_biased_lock_try_acquire(wp_biased_lock *ticket, uint64_t *my)
{
	/* [biased_lock.3] acquire; pairs biased_lock.5; upholds BiasedLock!SingleConsumer. */
	wp__biased_lock_number serving = wp_load_acquire(&ticket->serving);
	wp__biased_lock_number next = serving;

	*my = serving;
	/* [biased_lock.4] relaxed: atomicity is enough, biased_lock.3 acquired; pairs
	 * biased_lock.1; upholds BiasedLock!StealerNeverWaits: one try. */
	return wp_cas_relaxed(&ticket->next, &next, (wp__biased_lock_number)(serving + 1));
}

WP_INLINE void wp_biased_lock_release(wp_biased_lock *ticket,
				      uint64_t my) /* [the holder | wait-free] */
{
	/* [biased_lock.5] release; pairs biased_lock.2, biased_lock.3; upholds
	 * BiasedLock!SingleConsumer: the next holder sees what was consumed. */
	wp_store_release(&ticket->serving, (wp__biased_lock_number)(my + 1));
}

#endif
