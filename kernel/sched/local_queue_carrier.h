/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.h - a carrier with a bounded local queue (local_queue.h). The carrier queues
 * its own tasks in a ring. Half of a full ring overflows to the carrier's run queue, and a thief
 * takes half of a ring.
 *
 *   the carrier pushes to itself       polls (run_queues.h)     steals
 *   [local_queue.3] to the ring; if    the next slot            [local_queue.10] half of a ring:
 *     that is full, first move half    the ring, and what         run one task, put the others
 *     of it to the run queue             others pushed or what    into the own ring
 *   [carrier.7] as in carrier.h: an      has overflowed, in       wake an idle carrier:
 *     idle carrier is woken              turn                     [search.7] if it was woken to
 *                                                                 steal, else [carrier.7]
 *                                                               or one task of a run queue
 *
 *   before a sleep [carrier.6], after a release of the token [search.7]: a hit is a ring, or a
 *   queue
 *
 * Why it works  What others push goes to the same places as without a ring: to the queue, or to the
 *               inbox if it is pinned. So a ring has one producer, and the rules of carrier.h hold
 *               for all else: a task that overflows is treated as one that a carrier without a ring
 *               pushes to itself.
 *               A ring is one more place where a task may be at the time of [carrier.7], and one
 *               more where [carrier.6] and [search.7] look. A carrier that parks has an empty ring
 *               and an empty slot, so a waker that leaves relies on the queue alone. The tasks that
 *               a thief takes are in no place for an instant; a carrier that looks in that instant
 *               is woken after it. The task of the slot is in no place where others look, and it
 *               need not be, because it runs before anything else.
 * Not promised  Tasks may not start in the order of their pushes: those that overflow come later,
 *               and what others push takes turns with the ring. A busy sibling need not take what
 *               has overflowed; idle siblings do, as with all tasks that wait in a run queue.
 * Prior art     The run queues of Go (runq, runnext) and of Tokio (local queue, LIFO slot).
 * Spec          specs/sched/LocalQueueCarrier.tla: NothingStrands, SlotIsNext;
 *               specs/queue/LocalQueue.tla: the ring.
 * Evidence      make check-specs T='LocalQueue', make stress T=local_queue_carrier,
 *               tests/sched/test_local_queue_carrier.py. */
#ifndef WP_LOCAL_QUEUE_CARRIER_H
#define WP_LOCAL_QUEUE_CARRIER_H

#include "queue/local_queue.h"
#include "sched/carrier.h"

/* The ring of one carrier. `local` is written as local_queue.h says, the other fields by the owner.
 * `spilled` counts the tasks that overflowed to the run queue; `looted` those that came along with
 * a stolen one. */
typedef struct wp_local_queue_carrier {
	wp_local_queue local;
	_Alignas(WP_LINE) wp_atomic(uint64_t) spilled, looted;
} wp_local_queue_carrier;

/* Gives a ring to a carrier, which has a domain. [before it is shared | wait-free] */
void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded);

/* Pushes to the ring. The caller must then wake an idle carrier. [the owner | wait-free] */
void wp__local_queue_carrier_push(wp_carrier *carrier, wp_mpsc_node *task);

/* Puts the task into the next slot (run_queues.h). If the slot is taken, queues the task as any
 * other. [the owner | as wp_carrier_submit_internal] */
void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task);
/* Moves all tasks of the ring and the slot, if the carrier has them, to its run queue. [any thread
 * | lock-free] */
void wp__local_queue_carrier_hand_over(wp_carrier *carrier);

#endif
