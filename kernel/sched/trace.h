/* SPDX-License-Identifier: Apache-2.0
 * trace.h - an execution tracer. It records what the carriers of a group do, as events in ring
 * buffers that any thread may read at the same time.
 *
 *   uint64_t number = 0, many;
 *   wp_group_trace_on(group, 0);
 *   ...                                                        (the group runs)
 *   while ((many = wp_group_trace(group, carrier, &number, events, 64)) != 0)
 *           print(events, many);
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
 *   POLL      a look of the carrier's  descriptors that 1: it blocked   -
 *             poller that found some   are ready
 *             descriptor, or blocked
 *   WAIT      a virtual thread, from   enum wp_wait     the descriptor, enum wp_error, negated
 *             its park until it runs                    or permits
 *             again: on the carrier
 *             that runs it then
 *
 * Why it works  One thread writes to a ring (event_ring.h). Each carrier has a ring, and all other
 *               threads share one more, under a lock. An event holds a copy of the task's name,
 *               taken by the thread that has the task at that moment, and a number that no other
 *               thread of the group gets. Both are copies because the memory of the task soon
 *               belongs to another one. One word switches tracing on and off, and holds the address
 *               of the rings; while it is NULL, tracing costs one look at it. A switch to larger
 *               rings keeps the old ones until the group is freed, because some thread may be about
 *               to write to them. A span that began while tracing was off is not recorded.
 * Not promised  Not every event is kept: a ring holds the newest. A thread that is in the middle of
 *               an event when tracing is switched off still writes that event. Tasks that are not
 *               virtual threads have no numbers: their addresses take the place of these. Waits of
 *               OS threads are not recorded, nor are looks of pollers that are not our own.
 * Prior art     Go's execution tracer; the per-CPU ring buffers of Linux ftrace.
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
	WP_TRACE_MOST = 1048576, /* the most events of a ring */
	WP_TRACE_USUAL = 65536,  /* events of a ring by default */
	WP_TRACE_NAME = 48,      /* bytes of a name with its end; longer ones are cut */
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
	WP_TRACE_POLL = 9,
};

enum wp_trace_steal {
	WP_STEAL_DIRECTED = 1,  /* it was woken to help that home */
	WP_STEAL_PROBED = 2,    /* from the longer queue of two siblings */
	WP_STEAL_RECHECK = 3,   /* found by the recheck before it slept */
	WP_STEAL_BY_POLLER = 4, /* a bit: stolen by the carrier's poller, not by its loop */
};

typedef struct wp_trace_event {
	int64_t begin_ns, duration_ns; /* CLOCK_MONOTONIC */
	/* The number of a virtual thread in its group, or the address of another task; 0: no task.
	 */
	uint64_t task;
	uint32_t kind, a, b, c;
	char name[WP_TRACE_NAME]; /* the task's name; "": none */
} wp_trace_event;

/* Switches tracing on, with rings of at least `events` events for each carrier. `events` is a power
 * of two, or 0 for the size of before, which is at first WP_TRACE_USUAL. Rings never get smaller.
 * Earlier events stay, unless the rings get larger; their numbers continue. Returns WP_OK;
 * WP_MISUSED if the number is not valid; or WP_SYSTEM and sets errno. [any thread | blocks briefly,
 * allocates] */
WP_API int wp_group_trace_on(wp_group *group, uint32_t events);

/* Switches tracing off. The events that are there can still be read. [any thread | blocks briefly]
 */
WP_API void wp_group_trace_off(wp_group *group);

/* The first returns the size of each ring, or 0 while tracing is off. The second also returns it
 * after tracing was switched off, and 0 only if tracing never was on. [any thread | the first is
 * wait-free, the second blocks briefly] */
WP_API uint32_t wp_group_tracing(wp_group *group);
WP_API uint32_t wp_group_traced(wp_group *group);

/* Copies events of one ring, from number *number on, as far as there are events and `room`. Returns
 * how many it copied, and advances *number past these and past events that were overwritten. `ring`
 * is a carrier's index, or for all other threads the number of carriers, with spare ones. [any
 * thread | blocks briefly] */
WP_API uint64_t wp_group_trace(wp_group *group, uint32_t ring, uint64_t *number,
			       wp_trace_event *events, uint64_t room);

/* Returns the time in ns that it takes to record that many events, each with its two looks at the
 * clock; -1 if there is no memory. [any thread | allocates] */
WP_API int64_t wp_trace_cost_ns(uint32_t events);
/* cdef: end */

typedef struct wp_traces {
	wp_lock lock;   /* of the last ring, which threads share */
	uint32_t count; /* carriers + 1 */
	uint32_t size;  /* events of each ring */
	wp_event_ring *rings;
	wp_event_ring_slot *slots;
	struct wp_traces *before; /* smaller rings, to which some thread may still write */
} wp_traces;

/* The tracing of one group. A zeroed one is off. */
typedef struct wp_tracing {
	wp_event_ring_switch on; /* to a wp_traces */
	wp_lock lock;
	wp_traces *kept; /* the largest that were made; NULL: none */
} wp_tracing;

/* The first prepares the tracing of a group, and switches it on unless `events` is 0. It returns
 * WP_OK or WP_SYSTEM. The second frees it, when no thread writes. [before it is shared | allocates;
 * the second is wait-free] */
int wp__tracing_begin(wp_group *group, uint32_t events);
void wp__tracing_end(wp_tracing *tracing);

/* Sets the task of an event: its name and number. [the thread that has the task | wait-free] */
void wp__trace_of(wp_trace_event *event, const wp_task *task);

/* Writes an event. [the ring's thread, or any for the last ring | wait-free, but for the last ring]
 */
void wp__trace_add(wp_group *group, uint32_t ring, const wp_trace_event *event);

/* Writes an event to the ring of the calling thread. [any thread | as wp__trace_add] */
void wp__trace_add_here(wp_group *group, const wp_trace_event *event);

#endif
