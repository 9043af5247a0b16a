/* SPDX-License-Identifier: Apache-2.0
 * event_ring.h - a ring with one thread's newest events, readable while that thread writes: a
 * seqlock per slot.
 *
 *   writer (event n, into slot n mod size)  reader (event n)
 *   [event_ring.1] seq := 2n + 1            [event_ring.4] seq = 2n + 2? no: gone, or not yet there
 *   [event_ring.2] the words                [event_ring.5] the words
 *   [event_ring.3] seq := 2n + 2            [event_ring.6] still 2n + 2? no: the copy is torn
 *   [event_ring.7] count := n + 1
 *
 *   thread that switches                      thread that writes events
 *   make rings; [event_ring.11] to := rings   [event_ring.12] to = NULL? collect nothing
 *   [event_ring.11] to := NULL                [event_ring.10] to = NULL? write nothing; else here
 *   free the rings after the last writer
 *
 * Why it works  Each word is stored with release. So a reader that gets a word of a later event has
 *               acquired event_ring.1 of that event, and event_ring.6 shows it that the slot was
 *               taken. No word that the reader gets is older than event n, because the reader has
 *               acquired event_ring.3 of event n. The switch holds the address of the rings, and a
 *               writer reads it before each event. So a writer only sees rings that are complete,
 *               and they are freed only when no writer can hold their address any more.
 * Not promised  That an event is still there: the oldest are overwritten, and counted. That nobody
 *               writes once the switch is off: a thread that read the switch before still writes
 *               its event.
 * Spec          specs/base/EventRing.tla: NoTornEvent, NoInventedEvent; specs/sched/Trace.tla:
 *               RingsAreThere.
 * Evidence      make check-specs T=EventRing, make stress T=event_ring. */
#ifndef WP_EVENT_RING_H
#define WP_EVENT_RING_H

#include <stddef.h>

#include "base/order.h"

/* Words of an event; the writer gives them a meaning. All words take the same steps, so scenarios
 * use fewer. */
#ifndef WP_EVENT_RING_WORDS
#define WP_EVENT_RING_WORDS 11
#endif

/* 96 bytes. The ring's thread writes it. */
typedef struct wp_event_ring_slot {
	/* 0: no event yet; 2n + 1: event n is being written; 2n + 2: event n is complete */
	wp_atomic(uint64_t) seq;
	wp_atomic(uint64_t) words[WP_EVENT_RING_WORDS];
} wp_event_ring_slot;

/* The creator of the ring provides its memory: mask + 1 zeroed slots, a power of two. */
typedef struct wp_event_ring {
	wp_event_ring_slot *slots;
	uint64_t mask;
	wp_atomic(uint64_t) count; /* events so far */
} wp_event_ring;

/* Makes a ring of `size` slots; its first event gets the number `first`.
 * [before it is shared | wait-free] */
WP_INLINE void wp_event_ring_init(wp_event_ring *ring, wp_event_ring_slot *slots, uint64_t size,
				  uint64_t first)
{
	ring->slots = slots;
	ring->mask = size - 1;
	wp_init(&ring->count, first);
}

/* Writes one event over the oldest. [the ring's thread | wait-free] */
WP_INLINE void wp_event_ring_add(wp_event_ring *ring, const uint64_t *words)
{
	/* [event_ring.8] relaxed: ordered by program order, as only this thread writes it; pairs
	 * event_ring.7; upholds EventRing!NoInventedEvent. */
	uint64_t number = wp_load_relaxed(&ring->count);
	wp_event_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [event_ring.1] relaxed: ordered by event_ring.2, each of which releases it; pairs
	 * event_ring.4, event_ring.6; upholds EventRing!NoTornEvent. */
	wp_store_relaxed(&slot->seq, 2 * number + 1);
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		/* [event_ring.2] release; pairs event_ring.5; upholds EventRing!NoTornEvent: a
		 * reader that gets this word sees event_ring.1. */
		wp_store_release(&slot->words[word], words[word]);
	/* [event_ring.3] release; pairs event_ring.4, event_ring.6; upholds EventRing!NoTornEvent:
	 * a reader that sees it sees the words. */
	wp_store_release(&slot->seq, 2 * number + 2);
	/* [event_ring.7] release; pairs event_ring.8, event_ring.9; upholds
	 * EventRing!NoInventedEvent: events below the count are complete. */
	wp_store_release(&ring->count, number + 1);
}

/* The number of events so far. Those from count - size on may still be there.
 * [any thread | wait-free] */
WP_INLINE uint64_t wp_event_ring_count(wp_event_ring *ring)
{
	/* [event_ring.9] acquire; pairs event_ring.7; upholds EventRing!NoInventedEvent. */
	return wp_load_acquire(&ring->count);
}

/* Copies event `number`. False if it is overwritten, or not written yet.
 * [any thread | wait-free] */
WP_INLINE bool wp_event_ring_get(wp_event_ring *ring, uint64_t number, uint64_t *words)
{
	wp_event_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [event_ring.4] acquire; pairs event_ring.1, event_ring.3; upholds
	 * EventRing!NoTornEvent. */
	if (wp_load_acquire(&slot->seq) != 2 * number + 2)
		return false;
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		/* [event_ring.5] acquire; pairs event_ring.2; upholds EventRing!NoTornEvent. */
		words[word] = wp_load_acquire(&slot->words[word]);
	/* [event_ring.6] relaxed: ordered by event_ring.5; pairs event_ring.1, event_ring.3;
	 * upholds EventRing!NoTornEvent. */
	return wp_load_relaxed(&slot->seq) == 2 * number + 2;
}

/* The switch: the rings that all its readers write events to. Zeroed is off. */
typedef struct wp_event_ring_switch {
	wp_atomic(void *) to;
} wp_event_ring_switch;

/* A cheap first check, before an event is collected. [any thread | wait-free] */
WP_INLINE bool wp_event_ring_is_on(wp_event_ring_switch *at)
{
	/* [event_ring.12] relaxed: stale costs an event, or a look in vain, since a writer takes
	 * the rings from event_ring.10; pairs event_ring.11; upholds Trace!RingsAreThere. */
	return wp_load_relaxed(&at->to) != NULL;
}

/* The rings to write to, read before each event; NULL if the switch is off.
 * [any thread | wait-free] */
WP_INLINE void *wp_event_ring_on(wp_event_ring_switch *at)
{
	/* [event_ring.10] acquire; pairs event_ring.11; upholds Trace!RingsAreThere: a writer that
	 * gets the rings sees them complete. */
	return wp_load_acquire(&at->to);
}

/* Sets the rings, or NULL for off. The previous rings are still written to for a while.
 * [one thread at a time | wait-free] */
WP_INLINE void wp_event_ring_switch_to(wp_event_ring_switch *at, void *to)
{
	/* [event_ring.11] release; pairs event_ring.10, event_ring.12; upholds
	 * Trace!RingsAreThere. */
	wp_store_release(&at->to, to);
}

#endif
