/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.h - carriers with a bounded local queue: what a carrier queues for itself is
 * in a ring, half of a full one goes to its run queue, and thieves take half of a ring.
 *
 *   the carrier pushes to itself       polls (run_queues.h)     is a thief
 *   [local_queue.3] ring; a full one   the next slot            [local_queue.10] half of a ring:
 *     first: half to its run queue     ring and what others       one is run, the others are in
 *   [carrier.7] as of carrier.h: an      pushed, or spilt, in     its own ring
 *     idle one is told                   turn                   woken: [search.7], else
 *                                                                 [carrier.7]: an idle one is told
 *                                                               or one of the queue
 *
 *   before a sleep [carrier.6], after a release of the token [search.7]: a hit is a ring, or a
 *   queue
 *
 * Why it works  What others push goes where it went: to the queue, or the inbox if it is pinned. So
 *               a ring has one producer, and the rules of carrier.h hold for all else: what spills
 *               is as what a carrier without a ring pushes to itself. A ring is one more place
 *               where a task may be when [carrier.7] comes, and where [carrier.6] and [search.7]
 *               look. A carrier that parks has an empty ring and slot, so who wakes it and leaves
 *               relies on its queue alone. What a thief takes is for an instant nowhere: who looks
 *               then is told after it. The task of the slot is in no place where others look, nor
 *               need they: it is run before anything else.
 * Not promised  That tasks start in the order of their pushes: those that spill come later, and
 *               what others push takes turns with the ring. That a busy sibling takes what has
 *               spilt: as with all that waits in a run queue, idle ones do.
 * Spec          specs/sched/LocalQueueCarrier.tla: NothingStrands, SlotIsNext;
 *               specs/queue/LocalQueue.tla: the ring.
 * Evidence      make check-specs T='LocalQueue', make stress T=local_queue_carrier,
 *               tests/sched/test_local_queue_carrier.py. */
#ifndef WP_LOCAL_QUEUE_CARRIER_H
#define WP_LOCAL_QUEUE_CARRIER_H

#include "queue/local_queue.h"
#include "sched/carrier.h"

/* Of a carrier. local: local_queue.h. The rest: the owner. */
typedef struct wp_local_queue_carrier {
	wp_local_queue local;
	_Alignas(WP_LINE) wp_atomic(uint64_t) spilled, looted;
} wp_local_queue_carrier;

/* The carrier, which has a domain, is bounded. [before it is shared | wait-free] */
void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded);

/* The caller then tells who sleeps. [the owner | wait-free] */
void wp__local_queue_carrier_push(wp_carrier *carrier, wp_mpsc_node *task);

/* For the next slot (run_queues.h); or it is queued as any other. [the owner | as
 * wp_carrier_submit_internal] */
void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task);
/* All that is in ring and slot, if it has them, goes to its run queue. [any thread | lock-free] */
void wp__local_queue_carrier_hand_over(wp_carrier *carrier);

#endif
