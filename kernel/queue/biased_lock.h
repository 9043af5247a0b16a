/* SPDX-License-Identifier: Apache-2.0
 * biased_lock.h - the lock of a queue's consumers, a biased ticket lock. The owner of the queue
 * always gets it; a stealer, which wants tasks from another thread's queue, tries once and never
 * waits.
 *
 *   owner                                       stealer
 *   [biased_lock.1] my := fetch_add(next, 1)    [biased_lock.3] s := serving
 *   [biased_lock.2] until serving = my: pause,  [biased_lock.4] one compare-and-swap(next, s, s+1)
 *                   then yield the CPU                          lost: give up
 *   [biased_lock.5] serving := my + 1           [biased_lock.5] serving := s + 1
 *
 * Why it works  serving <= next always. So next = s proves that no thread holds the lock or waits
 *               for it, and the stealer gets it at once. One fetch-and-add gives the owner its
 *               place in the queue, where at most one holder is before it. 64-bit counters do not
 *               wrap.
 * Not promised  The owner may be delayed, because a stealer may lose its CPU while it holds the
 *               lock. The owner then yields its CPU, and in the end sleeps, so that even a stealer
 *               of a lower real-time priority runs.
 * Prior art     Ticket locks. We do not know of another one that prefers the owner to stealers.
 * Spec          specs/queue/BiasedLock.tla: SingleConsumer, StealerNeverWaits, OwnerAlwaysServed.
 * Evidence      make check-specs T=BiasedLock, make stress T=biased_lock. */
#ifndef WP_BIASED_LOCK_H
#define WP_BIASED_LOCK_H

#include "base/order.h"

/* In builds for the explorer these numbers have 8 bits and soon wrap. So a loop whose attempts all
 * fail comes back to a state that was there before, and the number of states is finite. No thread
 * holds a number for 256 turns in a scenario. */
#ifndef WP_TICKET_NUMBER
#define WP_TICKET_NUMBER uint64_t
#endif
typedef WP_TICKET_NUMBER wp__biased_lock_number;

/* 128 bytes. Both words are on one cache line, because owner and stealer touch both in each turn.
 * With two threads, one line was measured to be faster than two (make bench T=layout).
 * biased_lock.1 and biased_lock.4 write next; biased_lock.5 writes serving. */
typedef struct wp_biased_lock {
	_Alignas(WP_LINE) wp_atomic(wp__biased_lock_number) next;
	wp_atomic(wp__biased_lock_number) serving;
} wp_biased_lock;

_Static_assert(sizeof(wp_biased_lock) % WP_LINE == 0, "the ticket shares its line");

/* Makes a free lock. [one thread, before the lock is shared | wait-free] */
WP_INLINE void wp_biased_lock_init(wp_biased_lock *ticket)
{
	wp_init(&ticket->next, 0);
	wp_init(&ticket->serving, 0);
}

/* Takes the lock. Returns the number that the caller must pass to the release. [the owner | waits
 * for at most one stealer] */
WP_INLINE uint64_t wp_biased_lock_acquire(wp_biased_lock *ticket)
{
	/* [biased_lock.1] relaxed: atomicity is enough, because biased_lock.2 acquires; pairs
	 * biased_lock.4; upholds BiasedLock!OwnerAlwaysServed. */
	uint64_t my = wp_fetch_add_relaxed(&ticket->next, 1);
	unsigned turns = 0;

	/* [biased_lock.2] acquire; pairs biased_lock.5; upholds BiasedLock!SingleConsumer: the
	 * owner sees what the last holder did. */
	while (wp_load_acquire(&ticket->serving) != my)
		wp_wait_a_turn(&turns);
	return my;
}

/* Takes the lock if no thread has it or waits for it. [any thread | wait-free] */
WP_INLINE bool wp_biased_lock_try_acquire(wp_biased_lock *ticket, uint64_t *my)
{
	/* [biased_lock.3] acquire; pairs biased_lock.5; upholds BiasedLock!SingleConsumer. */
	wp__biased_lock_number serving = wp_load_acquire(&ticket->serving);
	wp__biased_lock_number next = serving;

	*my = serving;
	/* [biased_lock.4] relaxed: atomicity is enough, because biased_lock.3 has acquired; pairs
	 * biased_lock.1; upholds BiasedLock!StealerNeverWaits: the stealer tries once. */
	return wp_cas_relaxed(&ticket->next, &next, (wp__biased_lock_number)(serving + 1));
}

/* Releases the lock; `my` is the number from the acquire. [the holder | wait-free] */
WP_INLINE void wp_biased_lock_release(wp_biased_lock *ticket, uint64_t my)
{
	/* [biased_lock.5] release; pairs biased_lock.2, biased_lock.3; upholds
	 * BiasedLock!SingleConsumer: the next holder sees what was consumed. */
	wp_store_release(&ticket->serving, (wp__biased_lock_number)(my + 1));
}

#endif
