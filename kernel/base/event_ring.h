/* SPDX-License-Identifier: Apache-2.0
 * event_ring.h - the newest events of one thread, which others may read while it goes on writing.
 *
 *   writer (event n, into slot n mod size)      reader (event n)
 *   [E1] seq := 2n + 1                          [E4] seq = 2n + 2? else it is gone, or not there
 *   [E2] the words                              [E5] the words
 *   [E3] seq := 2n + 2                          [E6] seq = 2n + 2 still? else it is torn
 *   [E7] count := n + 1
 *
 *   who switches                                who writes
 *   makes rings; [E11] to := these              [E12] to = NULL? nothing is written, nothing is read
 *   [E11] to := NULL                            [E10] to = NULL? nothing; else into these
 *   frees them: when nobody writes any more
 *
 * Why it works  A reader that gets a word of a later event has acquired that event's E1, for each
 *               word is released: so it sees at E6 that the slot was taken. A word that it gets is
 *               of event n or later, for it has acquired E3.
 *               A switch says where the rings are, and is read before each event: so who writes has
 *               rings that were made, and that go only when nobody can have them any more.
 * Not promised  That an event is still there: the oldest are overwritten, and counted. That nobody
 *               writes when the switch is off: who read it before writes its event.
 * Spec          specs/base/Ring.tla: NoTornEvent, NoInventedEvent; specs/sched/Trace.tla: RingsAreThere.
 * Evidence      make check-specs T=Ring, make stress T=ring. */
#ifndef WP_RING_H
#define WP_RING_H

#include <stddef.h>

#include "base/order.h"

/* Of an event; their meaning is the writer's. All take the same steps: scenarios have fewer. */
#ifndef WP_RING_WORDS
#define WP_RING_WORDS 11
#endif

/* 96 bytes; written by the ring's thread. */
typedef struct wp_ring_slot {
	wp_atomic(uint64_t) seq; /* 0: nothing yet; 2n + 1: event n is being written; 2n + 2: is there */
	wp_atomic(uint64_t) words[WP_RING_WORDS];
} wp_ring_slot;

/* Memory is given by whoever makes it: mask + 1 zeroed slots, a power of two. */
typedef struct wp_ring {
	wp_ring_slot *slots;
	uint64_t mask;
	wp_atomic(uint64_t) count; /* events so far */
} wp_ring;

/* Its first event gets that number. [before it is shared | wait-free] */
WP_INLINE void wp_ring_init(wp_ring *ring, wp_ring_slot *slots, uint64_t size, uint64_t first)
{
	ring->slots = slots;
	ring->mask = size - 1;
	wp_init(&ring->count, first);
}

/* [the ring's thread | wait-free] */
WP_INLINE void wp_ring_add(wp_ring *ring, const uint64_t *words)
{
	/* [E8] relaxed: ordered by program order, its thread alone writes it; pairs E7; upholds
	 * Ring!NoInventedEvent. */
	uint64_t number = wp_load_relaxed(&ring->count);
	wp_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [E1] relaxed: ordered by E2, each of which releases it; pairs E4, E6; upholds
	 * Ring!NoTornEvent. */
	wp_store_relaxed(&slot->seq, 2 * number + 1);
	for (int word = 0; word < WP_RING_WORDS; word++)
		/* [E2] release; pairs E5; upholds Ring!NoTornEvent: who gets this word sees E1. */
		wp_store_release(&slot->words[word], words[word]);
	/* [E3] release; pairs E4, E6; upholds Ring!NoTornEvent: who sees it sees the words. */
	wp_store_release(&slot->seq, 2 * number + 2);
	/* [E7] release; pairs E8, E9; upholds Ring!NoInventedEvent: events below are there. */
	wp_store_release(&ring->count, number + 1);
}

/* Events so far; those from count - size on may still be there. [any thread | wait-free] */
WP_INLINE uint64_t wp_ring_count(wp_ring *ring)
{
	/* [E9] acquire; pairs E7; upholds Ring!NoInventedEvent. */
	return wp_load_acquire(&ring->count);
}

/* Copies event `number`. False: it is overwritten, or not written yet. [any thread | wait-free] */
WP_INLINE bool wp_ring_get(wp_ring *ring, uint64_t number, uint64_t *words)
{
	wp_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [E4] acquire; pairs E1, E3; upholds Ring!NoTornEvent. */
	if (wp_load_acquire(&slot->seq) != 2 * number + 2)
		return false;
	for (int word = 0; word < WP_RING_WORDS; word++)
		/* [E5] acquire; pairs E2; upholds Ring!NoTornEvent. */
		words[word] = wp_load_acquire(&slot->words[word]);
	/* [E6] relaxed: ordered by E5; pairs E1, E3; upholds Ring!NoTornEvent. */
	return wp_load_relaxed(&slot->seq) == 2 * number + 2;
}

/* Where events go, of all who look there. Zeroed is off. */
typedef struct wp_ring_switch {
	wp_atomic(void *) to;
} wp_ring_switch;

/* [any thread | wait-free] */
WP_INLINE bool wp_ring_is_on(wp_ring_switch *at)
{
	/* [E12] relaxed: stale costs an event, or a look in vain: what is written to is read by E10;
	 * pairs E11; upholds Trace!RingsAreThere. */
	return wp_load_relaxed(&at->to) != NULL;
}

/* Before each event. NULL: it is off. [any thread | wait-free] */
WP_INLINE void *wp_ring_on(wp_ring_switch *at)
{
	/* [E10] acquire; pairs E11; upholds Trace!RingsAreThere: who gets rings sees them made. */
	return wp_load_acquire(&at->to);
}

/* NULL: off. What it was before is written to for a while. [one thread at a time | wait-free] */
WP_INLINE void wp_ring_switch_to(wp_ring_switch *at, void *to)
{
	/* [E11] release; pairs E10, E12; upholds Trace!RingsAreThere. */
	wp_store_release(&at->to, to);
}

#endif
