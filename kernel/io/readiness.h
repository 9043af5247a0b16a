/* SPDX-License-Identifier: Apache-2.0
 * readiness.h - one direction of a descriptor: who waits until it is ready, one told after the
 * other.
 *
 *   thread                                     poller, for each edge
 *   [readiness.1] seen := edges                lock; [readiness.2] edges++; one off the line; unlock
 *   try; it is not ready:                      grant it
 *   lock; edges # seen: unlock, once more
 *         in line; unlock; park; granted: once more
 *   it was ready, and this one was told:       who closes it
 *     one more off the line; grant it          lock; shut; all off the line; unlock; grant each
 *
 * Why it works  An edge comes once for all that arrived. Either it is counted before a thread
 *               looks, then its try sees what came; or after it, then the thread sees that under
 *               the lock, or is in line and told. One that is told tries, and passes it on when
 *               there was something, for there may be more; if there was nothing, the next arrival
 *               is an edge.
 * Not promised  That who is told finds something: who has just come may be faster.
 *               A thread whose group is closed tries no more: the close takes it out of the line;
 *               or, if it was told, passes that on in its stead.
 * Spec          specs/io/Descriptor.tla: ReadinessNotLost, CloseWakesWaiter, ReadsAll.
 * Evidence      make check-specs T=Descriptor, make stress T=readiness. */
#ifndef WP_READINESS_H
#define WP_READINESS_H

#include "thread/wait_queue.h"

/* 32 bytes. edges: readiness.1, readiness.2; the rest: under the lock. */
typedef struct wp_ready {
	wp_lock lock;
	wp_atomic(uint32_t) edges;
	bool is_shut;
	wp_wait_queue line;
} wp_ready;

/* [before it is shared | wait-free] */
void wp_ready_init(wp_ready *ready);

/* Before each try. [any thread | wait-free] */
WP_INLINE uint32_t wp_ready_look(wp_ready *ready)
{
	/* [readiness.1] acquire; pairs readiness.2; upholds Descriptor!ReadinessNotLost: the try
	 * comes after it, and finds what the edges that it has seen tell of. */
	return wp_load_acquire(&ready->edges);
}

/* It was not ready: WP_OK: try once more; WP_CLOSED; WP_MUST_PARK: in line, park. [the waiter's
 * thread | blocks shortly] */
int wp__ready_begin(wp_ready *ready, uint32_t seen, wp_waiter *waiter);

/* What the close of its group does for a thread in the line: out of it; told of an edge: the next
 * one is. It is a waiter's `leave`, unless begin has found another one, which calls it. [the close
 * of its group | as wp__waiter_cancel] */
void wp__ready_leave(wp_waiter *waiter);

/* As begin, and waits: WP_OK: try once more, and if *is_told, and it was ready: pass. WP_TIMEOUT,
 * WP_INTERRUPTED, WP_CLOSED. [the waiter's thread | blocks] */
int wp__ready_wait(wp_ready *ready, wp_waiter *waiter, uint32_t seen, int64_t deadline_ns,
		   bool *is_told);
int wp_ready_wait(wp_ready *ready, uint32_t seen, int64_t deadline_ns, bool *is_told);

/* There is an edge. [its poller | blocks shortly] */
void wp_ready_tell(wp_ready *ready);
/* There may be more. [who was told | blocks shortly] */
void wp_ready_pass(wp_ready *ready);
/* Who waits, or will, is told WP_CLOSED. [any thread | blocks shortly] */
void wp_ready_shut(wp_ready *ready);

#endif
