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
 *               writer reads it before each event. So a writer only sees rings that are complete.
 *               The rings are freed only when no writer can hold their address any more.
 * Not promised  An event may be gone: a new event overwrites the oldest, and the overwritten ones
 *               are counted. Events may still be written after the switch is off, by a thread that
 *               has read the switch before.
 * Spec          specs/base/EventRing.tla: NoTornEvent, NoInventedEvent; specs/sched/Trace.tla:
 *               RingsAreThere.
 * Evidence      make check-specs T=EventRing, make stress T=event_ring. */
#ifndef WP_EVENT_RING_H
#define WP_EVENT_RING_H

#include <stddef.h>

#include "base/order.h"

/* The number of words of an event. The writer gives the words a meaning. All words take the same
 * steps, so scenarios of the judges use fewer. */
#ifndef WP_EVENT_RING_WORDS
#define WP_EVENT_RING_WORDS 11
#endif

/* 96 bytes. Only the ring's thread writes it. */
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

/* Makes a ring of `size` slots. The number of its first event is `first`. [one thread, before the
 * ring is shared | wait-free] */
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
	/* [event_ring.8] relaxed: ordered by program order, because only this thread writes it;
	 * pairs event_ring.7; upholds EventRing!NoInventedEvent. */
	uint64_t number = wp_load_relaxed(&ring->count);
	wp_event_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [event_ring.1] relaxed: ordered by event_ring.2, because each store there releases this
	 * one; pairs event_ring.4, event_ring.6; upholds EventRing!NoTornEvent. */
	wp_store_relaxed(&slot->seq, 2 * number + 1);
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		/* [event_ring.2] release; pairs event_ring.5; upholds EventRing!NoTornEvent: a
		 * reader that gets this word sees event_ring.1. */
		wp_store_release(&slot->words[word], words[word]);
	/* [event_ring.3] release; pairs event_ring.4, event_ring.6; upholds EventRing!NoTornEvent:
	 * a reader that sees this store sees the words. */
	wp_store_release(&slot->seq, 2 * number + 2);
	/* [event_ring.7] release; pairs event_ring.8, event_ring.9; upholds
	 * EventRing!NoInventedEvent: events below the count are complete. */
	wp_store_release(&ring->count, number + 1);
}

/* Returns the number of events so far. The newest of them, as many as the ring has slots, may still
 * be in the ring. [any thread | wait-free] */
WP_INLINE uint64_t wp_event_ring_count(wp_event_ring *ring)
{
	/* [event_ring.9] acquire; pairs event_ring.7; upholds EventRing!NoInventedEvent. */
	return wp_load_acquire(&ring->count);
}

/* Copies event `number`. Returns false if the event was overwritten, or is not written yet. [any
 * thread | wait-free] */
WP_INLINE bool wp_event_ring_get(wp_event_ring *ring, uint64_t number, uint64_t *words)
{
	wp_event_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [event_ring.4] acquire; pairs event_ring.1, event_ring.3; upholds EventRing!NoTornEvent.
	 */
	if (wp_load_acquire(&slot->seq) != 2 * number + 2)
		return false;
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		/* [event_ring.5] acquire; pairs event_ring.2; upholds EventRing!NoTornEvent. */
		words[word] = wp_load_acquire(&slot->words[word]);
	/* [event_ring.6] relaxed: ordered by event_ring.5; pairs event_ring.1, event_ring.3;
	 * upholds EventRing!NoTornEvent. */
	return wp_load_relaxed(&slot->seq) == 2 * number + 2;
}

/* The switch holds the address of the rings to which all its readers write events. A zeroed switch
 * is off. */
typedef struct wp_event_ring_switch {
	wp_atomic(void *) to;
} wp_event_ring_switch;

/* Returns true if the switch is on. It is a cheap first check, before a thread collects an event.
 * [any thread | wait-free] */
WP_INLINE bool wp_event_ring_is_on(wp_event_ring_switch *at)
{
	/* [event_ring.12] relaxed: a value that is stale costs an event, or an event that is
	 * collected in vain, because a writer takes the rings from event_ring.10; pairs
	 * event_ring.11; upholds Trace!RingsAreThere. */
	return wp_load_relaxed(&at->to) != NULL;
}

/* Returns the rings to write to; NULL if the switch is off. A writer calls this before each event.
 * [any thread | wait-free] */
WP_INLINE void *wp_event_ring_on(wp_event_ring_switch *at)
{
	/* [event_ring.10] acquire; pairs event_ring.11; upholds Trace!RingsAreThere: a writer that
	 * gets the rings sees them complete. */
	return wp_load_acquire(&at->to);
}

/* Sets the rings; NULL turns the switch off. Threads may still write to the previous rings for a
 * while. [one thread at a time | wait-free] */
WP_INLINE void wp_event_ring_switch_to(wp_event_ring_switch *at, void *to)
{
	/* [event_ring.11] release; pairs event_ring.10, event_ring.12; upholds Trace!RingsAreThere.
	 */
	wp_store_release(&at->to, to);
}

#endif
