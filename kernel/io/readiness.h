/* SPDX-License-Identifier: Apache-2.0
 * readiness.h - the threads that wait until one direction of a descriptor, reading or writing, is
 * ready. They are woken one after the other. An edge is an event by which the system reports that
 * the direction became ready.
 *
 *   thread                                   poller, for each edge
 *   [readiness.1] seen := edges              lock; [readiness.2] edges + 2
 *   try the call; not ready:                   dequeue the first waiter; unlock; grant it
 *     lock; edges # seen: unlock, try again
 *           else: join the queue; unlock     a thread that closes the descriptor
 *     park; granted: try again               lock; shut := true; dequeue all; unlock
 *   ready, and this thread was woken:        grant each, with WP_CLOSED
 *     lock; dequeue the next; unlock; grant
 *
 * Why it works  One edge may stand for many arrivals of data. If an edge is counted before a thread
 *               reads the count, it comes before that thread's try, and the try finds what has
 *               arrived. A later edge changes the count, which the thread sees under the lock; or
 *               the thread is in the queue already and is woken. A woken thread tries. If there was
 *               something, it wakes the next waiter, because there may be more. If there was
 *               nothing, the next arrival is a new edge.
 * Prior art     Tokio's ScheduledIo has such a count (its tick). Go's pollDesc has one waiter only.
 * Not promised  A woken thread may find nothing, because a newcomer may have been faster. A thread
 *               does not try again when its group is closed. The close takes it out of the queue
 *               or, if it was woken already, wakes the next waiter in its place.
 * Spec          specs/io/Descriptor.tla: ReadinessNotLost, CloseWakesWaiter, ReadsAll.
 * Evidence      make check-specs T=Descriptor, make stress T=readiness. */
#ifndef WP_READINESS_H
#define WP_READINESS_H

#include "thread/wait_queue.h"

/* In `edges`: one of them has reported more than data, such as the end of a stream or an error. */
enum { WP_READY_MORE = 1, WP_READY_EDGE = 2 };

/* 32 bytes. `edges` is used by readiness.1 and readiness.2; the other fields are under the lock. */
typedef struct wp_ready {
	wp_lock lock;
	wp_atomic(uint32_t) edges; /* twice their number; WP_READY_MORE */
	bool is_shut;
	wp_wait_queue line;
} wp_ready;

/* [before it is shared | wait-free] */
void wp_ready_init(wp_ready *ready);

/* Reads the count of edges. Call it before each try. [any thread | wait-free] */
WP_INLINE uint32_t wp_ready_look(wp_ready *ready)
{
	/* [readiness.1] acquire; pairs readiness.2; upholds Descriptor!ReadinessNotLost: the try
	 * comes after this, and finds what the counted edges announced. */
	return wp_load_acquire(&ready->edges);
}

/* Call this when the try found nothing ready. Returns WP_OK (try again), WP_CLOSED, or WP_MUST_PARK
 * if the waiter has joined the queue; its thread must then park. [the waiter's thread | blocks
 * briefly] */
int wp__ready_begin(wp_ready *ready, uint32_t seen, wp_waiter *waiter);

/* Takes the waiter of a closed group out of the queue, or wakes the next waiter if this one was
 * woken by an edge. wp__ready_begin makes this function the waiter's `leave`, unless the waiter has
 * another one; that one must then call this function. [the close of the thread's group | as
 * wp__waiter_cancel] */
void wp__ready_leave(wp_waiter *waiter);

/* Begins and waits. WP_OK: try again; if *is_told is true and the try finds something, call
 * wp_ready_pass. Other results are WP_TIMEOUT, WP_INTERRUPTED and WP_CLOSED. [the waiter's thread |
 * blocks] */
int wp__ready_wait(wp_ready *ready, wp_waiter *waiter, uint32_t seen, int64_t deadline_ns,
		   bool *is_told);
int wp_ready_wait(wp_ready *ready, uint32_t seen, int64_t deadline_ns, bool *is_told);

/* Counts an edge and wakes the first waiter. `is_data`: the edge reports that data has come, and
 * nothing more. [the poller | blocks briefly] */
void wp_ready_tell(wp_ready *ready, bool is_data);
/* Wakes the next waiter, because there may be more data. [a woken thread | blocks briefly] */
void wp_ready_pass(wp_ready *ready);
/* Ends every present and later wait with WP_CLOSED. [any thread | blocks briefly] */
void wp_ready_shut(wp_ready *ready);

#endif
