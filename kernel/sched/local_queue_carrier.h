/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.h - carriers with a bounded local queue: a carrier queues its own tasks in a
 * ring, half of a full ring overflows to its run queue, and thieves take half of a ring.
 *
 *   the carrier pushes to itself       polls (run_queues.h)     steals
 *   [local_queue.3] ring; a full one   the next slot            [local_queue.10] half of a ring:
 *     first: half to its run queue     ring and what others       one is run, the others are in
 *   [carrier.7] as of carrier.h: an      pushed, or has           its own ring
 *     idle carrier is woken              overflowed, in turn      woken: [search.7], else
 *                                                                 [carrier.7]: an idle one is woken
 *                                                               or one of the queue
 *
 *   before a sleep [carrier.6], after a release of the token [search.7]: a hit is a ring, or a
 *   queue
 *
 * Why it works  What others push goes to the same places as without a ring: to the queue, or to the
 *               inbox if it is pinned. So a ring has one producer, and the rules of carrier.h hold
 *               for all else: a task that overflows is treated as one that a carrier without a ring
 *               pushes to itself. A ring is one more place where a task may be at the time of
 *               [carrier.7], and where [carrier.6] and [search.7] look. A carrier that parks has an
 *               empty ring and slot, so a waker that leaves relies on the queue alone. The tasks
 *               that a thief takes are in no place for an instant; a carrier that looks in that
 *               instant is woken after it. The task of the slot is in no place where others look,
 *               and need not be, because it runs before anything else.
 * Not promised  That tasks start in the order of their pushes: those that overflow come later, and
 *               what others push takes turns with the ring. That a busy sibling takes what has
 *               overflowed: idle siblings do, as with all tasks that wait in a run queue.
 * Prior art     The run queues of Go (runq, runnext) and of Tokio (local queue, LIFO slot).
 * Spec          specs/sched/LocalQueueCarrier.tla: NothingStrands, SlotIsNext;
 *               specs/queue/LocalQueue.tla: the ring.
 * Evidence      make check-specs T='LocalQueue', make stress T=local_queue_carrier,
 *               tests/sched/test_local_queue_carrier.py. */
#ifndef WP_LOCAL_QUEUE_CARRIER_H
#define WP_LOCAL_QUEUE_CARRIER_H

#include "queue/local_queue.h"
#include "sched/carrier.h"

/* The ring of one carrier. local: local_queue.h. The rest: the owner. spilled: tasks that
 * overflowed to the run queue; looted: tasks that came along with a stolen one. */
typedef struct wp_local_queue_carrier {
	wp_local_queue local;
	_Alignas(WP_LINE) wp_atomic(uint64_t) spilled, looted;
} wp_local_queue_carrier;

/* Gives a ring to a carrier, which has a domain. [before it is shared | wait-free] */
void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded);

/* Pushes to the ring; the caller then wakes an idle carrier. [the owner | wait-free] */
void wp__local_queue_carrier_push(wp_carrier *carrier, wp_mpsc_node *task);

/* Puts the task into the next slot (run_queues.h), or queues it as any other if the slot is taken.
 * [the owner | as wp_carrier_submit_internal] */
void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task);
/* Moves all tasks of ring and slot, if the carrier has them, to its run queue. [any thread |
 * lock-free] */
void wp__local_queue_carrier_hand_over(wp_carrier *carrier);

#endif
