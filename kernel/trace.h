/* SPDX-License-Identifier: Apache-2.0
 * trace.h - what the carriers of a group do, as events in rings that anybody may read meanwhile.
 *
 *   kind      of                       a                b               c
 *   SUBMIT    a start, an unpark that  home             runnable there  0, 1: an unpark
 *             queues the task
 *   RUN       one step of a task       home             -               -
 *   RUNS      one drain of the queues  steps            runnable before runnable after
 *   STEAL     a task taken elsewhere   its home         runnable there  enum wp_trace_steal
 *   PARK      a sleep                  -                -               -
 *   WAKE      its end                  1: there is work -               -
 *   PINNED    a park that blocks its   home             -               -
 *             carrier
 *
 * Why it works  A ring is written by one thread (ring.h): each carrier has one, and all other
 *               threads share one more, under a lock. Without rings nothing is done but to see
 *               that there are none.
 * Not promised  That every event is kept: a ring holds the newest.
 * Spec          specs/Ring.tla; kinds are actions of specs (wakeproof.trace.ACTIONS).
 * Evidence      tests/test_trace.py. */
#ifndef WP_TRACE_H
#define WP_TRACE_H

#include "group.h"
#include "ring.h"

/* cdef: begin */
enum wp_trace_kind {
	WP_TRACE_SUBMIT = 1,
	WP_TRACE_RUN = 2,
	WP_TRACE_RUNS = 3,
	WP_TRACE_STEAL = 4,
	WP_TRACE_PARK = 5,
	WP_TRACE_WAKE = 6,
	WP_TRACE_PINNED = 7,
};

enum wp_trace_steal {
	WP_STEAL_DIRECTED = 1, /* woken to help that home */
	WP_STEAL_PROBED = 2,   /* the longer queue of two siblings */
	WP_STEAL_RECHECK = 3,  /* found before it slept */
};

typedef struct wp_trace_event {
	int64_t begin_ns, duration_ns; /* CLOCK_MONOTONIC */
	uint64_t task;                 /* its address; 0: none */
	const char *name;              /* the task's, or NULL */
	uint32_t kind, a, b, c;
} wp_trace_event;

/* Copies events of one ring, from *number on, as long as there are and `room` lasts; says how
 * many, and moves *number on, past those that are overwritten. ring: a carrier's index; the group's
 * size: all other threads'. [any thread | wait-free] */
uint64_t wp_group_trace(wp_group *group, uint32_t ring, uint64_t *number, wp_trace_event *events,
			uint64_t room);

/* How long it takes to keep so many events, each with its two looks at the clock; -1: no memory.
 * [any thread | wait-free] */
int64_t wp_trace_cost_ns(uint32_t events);
/* cdef: end */

/* NULL: nobody asked for events. */
typedef struct wp_traces {
	wp_lock lock;     /* of the last ring */
	uint32_t count;   /* carriers + 1 */
	wp_ring *rings;
	wp_ring_slot *slots;
} wp_traces;

/* `size`: events of each ring, a power of two. NULL: no memory. */
wp_traces *wp__traces_new(uint32_t carriers, uint32_t size);
void wp__traces_free(wp_traces *traces);

/* [the thread of that ring; of the last one: any | wait-free, but for the last one] */
void wp__traces_add(wp_traces *traces, uint32_t ring, wp_trace_event event);

#endif
