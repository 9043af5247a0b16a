/* SPDX-License-Identifier: Apache-2.0
 * trace.h - what the carriers of a group do, as events in rings that anybody may read meanwhile.
 *
 *   kind      of                       a                b               c
 *   SUBMIT    a start, an unpark that  home             runnable there  0, 1: an unpark
 *             queues the task
 *   RUN       one step of a task       home             -               -
 *   RUNS      one drain of the queues  steps            runnable before runnable after
 *   STEAL     a task taken elsewhere   its home         runnable there  enum wp_trace_steal, and
 *                                                                       WP_STEAL_BY_POLLER, or not
 *   PARK      a sleep                  -                -               -
 *   WAKE      its end                  1: there is work -               -
 *   PINNED    a park that blocks its   home             -               -
 *             carrier
 *   WAIT      a virtual thread, from   enum wp_wait     the descriptor, enum wp_error, negated
 *             its park until it runs                    or permits
 *             again: on the carrier
 *             that runs it then
 *
 * Why it works  A ring is written by one thread (event_ring.h): each carrier has one, and all other
 *               threads share one more, under a lock. An event holds a copy of the name, taken by
 *               whoever has the task at that moment, and a number that no other thread of the group
 *               gets: the memory of both is the next thread's soon. It is switched on and off by
 *               one word, which says where the rings are; while that is NULL nothing is done but to
 *               see so. A switch to larger rings keeps the others until the group is freed:
 *               somebody may be about to write there. A span that began while it was off is not
 *               told.
 * Not promised  That every event is kept: a ring holds the newest. That whoever writes an event
 *               while it is switched off does not finish it. The numbers of tasks that are no
 *               virtual threads: these are addresses. Waits of OS threads.
 * Spec          specs/base/EventRing.tla; specs/sched/Trace.tla: NameIsItsOwn, NumberIsItsOwn,
 *               RingsAreThere, SpansHaveBegun; kinds are actions of specs
 *               (wakeproof.trace.ACTIONS).
 * Evidence      tests/sched/test_trace.py, tests/sched/test_trace_waits.py. */
#ifndef WP_TRACE_H
#define WP_TRACE_H

#include "base/event_ring.h"
#include "sched/group.h"
#include "thread/wait_reason.h"

/* cdef: begin */
enum {
	WP_TRACE_MOST = 1048576, /* events that a ring may keep */
	WP_TRACE_USUAL = 65536,  /* that it keeps if nobody says */
	WP_TRACE_NAME = 48,      /* bytes of a name, with its end; longer ones are cut */
};

enum wp_trace_kind {
	WP_TRACE_SUBMIT = 1,
	WP_TRACE_RUN = 2,
	WP_TRACE_RUNS = 3,
	WP_TRACE_STEAL = 4,
	WP_TRACE_PARK = 5,
	WP_TRACE_WAKE = 6,
	WP_TRACE_PINNED = 7,
	WP_TRACE_WAIT = 8,
};

enum wp_trace_steal {
	WP_STEAL_DIRECTED = 1,  /* woken to help that home */
	WP_STEAL_PROBED = 2,    /* the longer queue of two siblings */
	WP_STEAL_RECHECK = 3,   /* found before it slept */
	WP_STEAL_BY_POLLER = 4, /* a bit: by the carrier's poller, else by its loop */
};

typedef struct wp_trace_event {
	int64_t begin_ns, duration_ns; /* CLOCK_MONOTONIC */
	/* a virtual thread's number in its group, else the task's address; 0: none */
	uint64_t task;
	uint32_t kind, a, b, c;
	char name[WP_TRACE_NAME]; /* the task's; "": none */
} wp_trace_event;

/* From now on keeps so many events of each carrier, or as many as before, if that is more: a power
 * of two, or 0: as before, at first WP_TRACE_USUAL. Events of before stay, but not with larger
 * rings; the numbers go on. WP_OK; WP_MISUSED: no such number; WP_SYSTEM and errno. [any thread |
 * blocks shortly, allocates] */
WP_API int wp_group_trace_on(wp_group *group, uint32_t events);

/* Keeps no more; those that are there can be read. [any thread | blocks shortly] */
WP_API void wp_group_trace_off(wp_group *group);

/* How many are kept of each carrier; 0: it is off, or never was on. [any thread | wait-free; blocks
 * shortly] */
WP_API uint32_t wp_group_tracing(wp_group *group);
WP_API uint32_t wp_group_traced(wp_group *group);

/* Copies events of one ring, from *number on, as long as there are and `room` lasts; says how
 * many, and moves *number on, past those that are overwritten. ring: a carrier's index; the group's
 * size: all other threads'. [any thread | blocks shortly] */
WP_API uint64_t wp_group_trace(wp_group *group, uint32_t ring, uint64_t *number,
			       wp_trace_event *events, uint64_t room);

/* How long it takes to keep so many events, each with its two looks at the clock; -1: no memory.
 * [any thread | wait-free] */
WP_API int64_t wp_trace_cost_ns(uint32_t events);
/* cdef: end */

typedef struct wp_traces {
	wp_lock lock;   /* of the last ring */
	uint32_t count; /* carriers + 1 */
	uint32_t size;  /* events of each ring */
	wp_event_ring *rings;
	wp_event_ring_slot *slots;
	struct wp_traces *before; /* smaller ones, to which somebody may still write */
} wp_traces;

/* Of one group. Zeroed: it is off. */
typedef struct wp_tracing {
	wp_event_ring_switch on; /* to wp_traces */
	wp_lock lock;
	wp_traces *kept; /* the largest that were made; NULL: none */
} wp_tracing;

/* [before it is shared | allocates; when nobody writes | wait-free] */
int wp__tracing_begin(wp_group *group, uint32_t events);
void wp__tracing_end(wp_tracing *tracing);

/* Whose event it is: name and number. [who has the task | wait-free] */
void wp__trace_of(wp_trace_event *event, const wp_task *task);

/* [the thread of that ring; of the last one: any | wait-free, but for the last one] */
void wp__trace_add(wp_group *group, uint32_t ring, const wp_trace_event *event);

/* Into the ring of the calling thread. [any thread | as wp__trace_add] */
void wp__trace_add_here(wp_group *group, const wp_trace_event *event);

#endif
