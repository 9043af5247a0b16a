/* SPDX-License-Identifier: Apache-2.0
 * event_ring.h - the newest events of one thread, which others may read while it goes on writing.
 *
 *   writer (event n, into slot n mod size)  reader (event n)
 *   [event_ring.1] seq := 2n + 1            [event_ring.4] seq = 2n + 2? else it is gone, or not there
 *   [event_ring.2] the words                [event_ring.5] the words
 *   [event_ring.3] seq := 2n + 2            [event_ring.6] seq = 2n + 2 still? else it is torn
 *   [event_ring.7] count := n + 1
 *
 *   who switches                              who writes
 *   makes rings; [event_ring.11] to := these  [event_ring.12] to = NULL? nothing is written, nothing is read
 *   [event_ring.11] to := NULL                [event_ring.10] to = NULL? nothing; else into these
 *   frees them: when nobody writes any more
 *
 * Why it works  A reader that gets a word of a later event has acquired that event's event_ring.1,
 *               for each word is released: so it sees at event_ring.6 that the slot was taken. A
 *               word that it gets is of event n or later, for it has acquired event_ring.3.
 *               A switch says where the rings are, and is read before each event: so who writes has
 *               rings that were made, and that go only when nobody can have them any more.
 * Not promised  That an event is still there: the oldest are overwritten, and counted. That nobody
 *               writes when the switch is off: who read it before writes its event.
 * Spec          specs/base/EventRing.tla: NoTornEvent, NoInventedEvent; specs/sched/Trace.tla:
 *               RingsAreThere.
 * Evidence      make check-specs T=EventRing, make stress T=event_ring. */
#ifndef WP_EVENT_RING_H
#define WP_EVENT_RING_H

#include <stddef.h>

#include "base/order.h"

/* Of an event; their meaning is the writer's. All take the same steps: scenarios have fewer. */
#ifndef WP_EVENT_RING_WORDS
#define WP_EVENT_RING_WORDS 11
#endif

/* 96 bytes; written by the ring's thread. */
typedef struct wp_event_ring_slot {
	/* 0: nothing yet; 2n + 1: event n is being written; 2n + 2: is there */
	wp_atomic(uint64_t) seq;
	wp_atomic(uint64_t) words[WP_EVENT_RING_WORDS];
} wp_event_ring_slot;

/* Memory is given by whoever makes it: mask + 1 zeroed slots, a power of two. */
typedef struct wp_event_ring {
	wp_event_ring_slot *slots;
	uint64_t mask;
	wp_atomic(uint64_t) count; /* events so far */
} wp_event_ring;

/* Its first event gets that number. [before it is shared | wait-free] */
WP_INLINE void wp_event_ring_init(wp_event_ring *ring, wp_event_ring_slot *slots, uint64_t size,
				  uint64_t first)
{
	ring->slots = slots;
	ring->mask = size - 1;
	wp_init(&ring->count, first);
}

/* [the ring's thread | wait-free] */
WP_INLINE void wp_event_ring_add(wp_event_ring *ring, const uint64_t *words)
{
	/* [event_ring.8] relaxed: ordered by program order, its thread alone writes it; pairs
	 * event_ring.7; upholds EventRing!NoInventedEvent. */
	uint64_t number = wp_load_relaxed(&ring->count);
	wp_event_ring_slot *slot = &ring->slots[number & ring->mask];

	/* [event_ring.1] relaxed: ordered by event_ring.2, each of which releases it; pairs
	 * event_ring.4, event_ring.6; upholds EventRing!NoTornEvent. */
	wp_store_relaxed(&slot->seq, 2 * number + 1);
	for (int word = 0; word < WP_EVENT_RING_WORDS; word++)
		/* [event_ring.2] release; pairs event_ring.5; upholds EventRing!NoTornEvent: who
		 * gets this word sees event_ring.1. */
		wp_store_release(&slot->words[word], words[word]);
	/* [event_ring.3] release; pairs event_ring.4, event_ring.6; upholds EventRing!NoTornEvent:
	 * who sees it sees the words. */
	wp_store_release(&slot->seq, 2 * number + 2);
	/* [event_ring.7] release; pairs event_ring.8, event_ring.9; upholds
	 * EventRing!NoInventedEvent: events below are there. */
	wp_store_release(&ring->count, number + 1);
}

/* Events so far; those from count - size on may still be there. [any thread | wait-free] */
WP_INLINE uint64_t wp_event_ring_count(wp_event_ring *ring)
{
	/* [event_ring.9] acquire; pairs event_ring.7; upholds EventRing!NoInventedEvent. */
	return wp_load_acquire(&ring->count);
}

/* Copies event `number`. False: it is overwritten, or not written yet. [any thread | wait-free] */
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

/* Where events go, of all who look there. Zeroed is off. */
typedef struct wp_event_ring_switch {
	wp_atomic(void *) to;
} wp_event_ring_switch;

/* [any thread | wait-free] */
WP_INLINE bool wp_event_ring_is_on(wp_event_ring_switch *at)
{
	/* [event_ring.12] relaxed: stale costs an event, or a look in vain: what is written to is
	 * read by event_ring.10; pairs event_ring.11; upholds Trace!RingsAreThere. */
	return wp_load_relaxed(&at->to) != NULL;
}

/* Before each event. NULL: it is off. [any thread | wait-free] */
WP_INLINE void *wp_event_ring_on(wp_event_ring_switch *at)
{
	/* [event_ring.10] acquire; pairs event_ring.11; upholds Trace!RingsAreThere: who gets rings
	 * sees them made. */
	return wp_load_acquire(&at->to);
}

/* NULL: off. What it was before is written to for a while. [one thread at a time | wait-free] */
WP_INLINE void wp_event_ring_switch_to(wp_event_ring_switch *at, void *to)
{
	/* [event_ring.11] release; pairs event_ring.10, event_ring.12; upholds
	 * Trace!RingsAreThere. */
	wp_store_release(&at->to, to);
}

#endif
