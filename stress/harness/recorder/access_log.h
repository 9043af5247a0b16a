/* SPDX-License-Identifier: Apache-2.0
 * access_log.h - what a thread did, step by step, with stamps that order its steps among all
 * threads'.
 *
 *   thread, at each shared access          whoever reads the rings, when the thread has ended
 *   begin := clock++                       an event whose end lies before another's begin came
 *   the access                             first; two that overlap came in either order
 *   end := clock++
 *
 * Why it works  The clock is one counter of the process, moved on by acq_rel read-modify-writes
 *               alone. So end(a) < begin(b) means that a happens before b, and no read, write or
 *               overwrite goes from b back to a. A cycle of program order, stamp order and these
 *               would need an event that begins before itself: each edge from a to b has begin(a)
 *               < end(b), and from a location to the next one leads an edge with end(a) <
 *               begin(b). Hence what is recorded is one sequence of steps, in an order that the
 *               stamps allow. By the same argument a recorded run is sequentially consistent: the
 *               clock is a fence between any two accesses. Real cores, real system calls, but no
 *               reordering: that is for stress and the explorer, which are built without this.
 * Not promised  Time: a stamp is an order, and taking it costs a shared line.
 * Spec          each concept's own: wakeproof conform --traces.
 * Evidence      tests/judge/traces/test_recorder.py, tests/judge/traces/test_traces.py.
 *
 * recorder/instrument.h makes each operation of the kernel one event; else nothing of this is
 * compiled. */
#ifndef WP_ACCESS_LOG_H
#define WP_ACCESS_LOG_H

#include <stdatomic.h>
#include <stdint.h>

/* Where an operation stands; of a system call, its name. */
typedef struct wp_event_site {
	const char *file;
	int line;
	const char *name;
} wp_event_site;

/* 56 bytes. Written by its thread. */
typedef struct wp_event {
	uint64_t begin, end; /* stamps from 1; end 0: it never came back */
	const wp_event_site *site;
	uintptr_t place;   /* 0: none */
	uint64_t operand;  /* what it writes or asks for */
	uint64_t result;   /* what it read, or the call returned */
	uint64_t happened; /* 0: a compare-and-swap that failed */
} wp_event;

/* A thread's ring: the newest mask + 1 events. Memory and clock are given by whoever records. */
typedef struct wp_events {
	wp_event *ring;
	uint64_t mask;  /* a power of two less 1 */
	uint64_t count; /* of events so far: more than mask + 1 means that the oldest are gone */
	_Atomic(uint64_t) *clock;                 /* shared by all rings; starts at 1 */
	void (*before)(struct wp_events *events); /* each event; it may leave by longjmp */
} wp_events;

/* The calling thread's ring, or NULL: nothing is recorded. Defined by whoever records. */
extern _Thread_local wp_events *wp_events_mine;

/* [the thread | wait-free, but for `before`] */
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
