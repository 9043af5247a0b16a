/* SPDX-License-Identifier: Apache-2.0
 * access_log.h - records the steps of each thread, with stamps that order them among the steps of
 * all threads.
 *
 *   thread, at each shared access          reader of the rings, when the thread has ended
 *   begin := clock++                       if one event ends before another begins, it came first;
 *   the access                             two that overlap came in either order
 *   end := clock++
 *
 * Why it works  The clock is one counter of the process, and only acq_rel read-modify-writes
 *               advance it. So end(a) < begin(b) means that a happens before b, and no reads-from,
 *               modification-order or from-read edge leads from b back to a. A cycle of program
 *               order, stamp order and these edges would need an event that begins before itself:
 *               each edge from a to b has begin(a) < end(b), and from one location to the next
 *               leads an edge with end(a) < begin(b). Hence the recorded events are one sequence of
 *               steps, in an order that the stamps allow. By the same argument a recorded run is
 *               sequentially consistent, because the clock is a fence between any two accesses. It
 *               has real cores and real system calls, but no reordering. Reordering is for stress
 *               and the explorer, which are built without this file.
 * Not promised  Time. A stamp is an order, and taking it costs a shared cache line.
 * Spec          each concept's own: wakeproof conform --traces.
 * Evidence      tests/judge/traces/test_recorder.py, tests/judge/traces/test_traces.py.
 *
 * recorder/instrument.h turns each operation of the kernel into one event. Without it, none of this
 * is compiled. */
#ifndef WP_ACCESS_LOG_H
#define WP_ACCESS_LOG_H

#include <stdatomic.h>
#include <stdint.h>

/* The place of an operation in the source; for a system call, its name. */
typedef struct wp_event_site {
	const char *file;
	int line;
	const char *name;
} wp_event_site;

/* 56 bytes. Written by its own thread. */
typedef struct wp_event {
	uint64_t begin, end; /* stamps from 1; end 0: the operation never returned */
	const wp_event_site *site;
	uintptr_t place;   /* 0: none */
	uint64_t operand;  /* the value that it writes or asks for */
	uint64_t result;   /* the value that it read, or that the call returned */
	uint64_t happened; /* 0: a compare-and-swap that failed */
} wp_event;

/* The ring of a thread: its newest mask + 1 events. The recorder provides memory and clock. */
typedef struct wp_events {
	wp_event *ring;
	uint64_t mask; /* a power of two less 1 */
	/* The number of events so far. If it is more than mask + 1, the oldest events are gone. */
	uint64_t count;
	_Atomic(uint64_t) *clock; /* shared by all rings; starts at 1 */
	/* Called before each event; it may leave by longjmp. */
	void (*before)(struct wp_events *events);
} wp_events;

/* The ring of the calling thread. NULL: nothing is recorded. The recorder defines it. */
extern _Thread_local wp_events *wp_events_mine;

/* [the thread | wait-free, except for `before`] */
static inline wp_event *wp__event_begin(const wp_event_site *site, uintptr_t place,
					uint64_t operand)
{
	wp_events *mine = wp_events_mine;
	wp_event *event;

	if (!mine)
		return NULL;
	mine->before(mine);
	event = &mine->ring[mine->count++ & mine->mask];
	*event = (wp_event){.site = site, .place = place, .operand = operand};
	event->begin = atomic_fetch_add_explicit(mine->clock, 1, memory_order_acq_rel);
	return event;
}

static inline void wp__event_end(wp_event *event, uint64_t result, int happened)
{
	if (!event)
		return;
	event->result = result;
	event->happened = (uint64_t)happened;
	event->end = atomic_fetch_add_explicit(wp_events_mine->clock, 1, memory_order_acq_rel);
}

#endif
