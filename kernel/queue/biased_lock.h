/* SPDX-License-Identifier: Apache-2.0
 * biased_lock.h - biased consumer lock: the owner always gets it, a stealer never waits.
 *
 *   owner                                stealer
 *   [T1] my := fetch_add(next, 1)        [T3] s := serving
 *   [T2] until serving = my: pause,      [T4] compare-and-swap(next, s, s + 1), once; lost: give up
 *        then yield the CPU
 *   [T5] serving := my + 1               [T5] serving := s + 1
 *
 * Why it works  serving <= next always, so next = s proves that nobody holds or waits: the
 *               stealer is served at once. The owner's place in the queue is given by one
 *               fetch-and-add: at most the holder is before it. 64-bit counters do not wrap.
 * Not promised  That the owner is not delayed: a stealer may lose its CPU while it holds the
 *               lock. The owner then yields. Under SCHED_FIFO or SCHED_RR that gives the CPU to no
 *               thread of lower priority: an owner above its stealer, on the same CPU, spins until
 *               the system's real-time limit (kernel.sched_rt_runtime_us: 0.95 s of each second)
 *               lets it run, and for ever where that limit is off. So threads that share a queue
 *               have one policy and one priority: all carriers of a steal domain, and whoever closes
 *               or submits to them.
 * Spec          specs/queue/Ticket.tla: SingleConsumer, StealerNeverWaits, OwnerAlwaysServed.
 * Evidence      make check-specs T=Ticket, make stress T=ticket. */
#ifndef WP_TICKET_H
#define WP_TICKET_H

#include "base/order.h"

/* Explored, numbers wrap early: a loop of lost turns then comes back to a state that was there before.
 * Nobody holds a number for 256 turns in a scenario. */
#ifndef WP_TICKET_NUMBER
#define WP_TICKET_NUMBER uint64_t
#endif
typedef WP_TICKET_NUMBER wp__ticket_number;

/* 128 bytes. Both words on one line: owner and stealer touch both in each turn, and measured with
 * two of them one line moves faster than two (make bench T=layout). next: T1, T4. serving: T5. */
typedef struct wp_ticket {
	_Alignas(WP_LINE) wp_atomic(wp__ticket_number) next;
	wp_atomic(wp__ticket_number) serving;
} wp_ticket;

_Static_assert(sizeof(wp_ticket) % WP_LINE == 0, "the ticket shares its line");

WP_INLINE void wp_ticket_init(wp_ticket *ticket) /* free [before it is shared | wait-free] */
{
	wp_init(&ticket->next, 0);
	wp_init(&ticket->serving, 0);
}

/* Takes the lock; give what it returns to release. [the owner | waits for at most one stealer] */
WP_INLINE uint64_t wp_ticket_acquire(wp_ticket *ticket)
{
	/* [T1] relaxed: atomicity is enough, T2 acquires; pairs T4; upholds
	 * Ticket!OwnerAlwaysServed. */
	uint64_t my = wp_fetch_add_relaxed(&ticket->next, 1);
	unsigned turns = 0;

	/* [T2] acquire; pairs T5; upholds Ticket!SingleConsumer: what the last holder did is seen.
	 */
	while (wp_load_acquire(&ticket->serving) != my)
		wp_wait_a_turn(&turns);
	return my;
}

/* Takes the lock if nobody has it or waits for it. [any thread | wait-free] */
WP_INLINE bool wp_ticket_try_acquire(wp_ticket *ticket, uint64_t *my)
{
	/* [T3] acquire; pairs T5; upholds Ticket!SingleConsumer. */
	wp__ticket_number serving = wp_load_acquire(&ticket->serving);
	wp__ticket_number next = serving;

	*my = serving;
	/* [T4] relaxed: atomicity is enough, T3 acquired; pairs T1; upholds
	 * Ticket!StealerNeverWaits: one try. */
	return wp_cas_relaxed(&ticket->next, &next, (wp__ticket_number)(serving + 1));
}

WP_INLINE void wp_ticket_release(wp_ticket *ticket, uint64_t my) /* [the holder | wait-free] */
{
	/* [T5] release; pairs T2, T3; upholds Ticket!SingleConsumer: the next holder sees what was
	 * consumed. */
	wp_store_release(&ticket->serving, (wp__ticket_number)(my + 1));
}

#endif
