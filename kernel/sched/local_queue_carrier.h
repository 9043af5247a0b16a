/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.h - carriers whose run queue is bounded: what a carrier queues for itself is
 * in a ring, half of a full one goes to a queue of the whole steal domain, and thieves take half of
 * a ring.
 *
 *   the carrier pushes to itself             polls                       is a thief
 *   [local_queue.3] ring; a full one first:  the next slot               [local_queue.10] half of a ring:
 *     half to the global queue               every 64th time global first    one is run, the others
 *   [carrier.7] as of carrier.h: an idle  and what is its own waits:         are in its own ring
 *     one is told                         [carrier.7] an idle one is told  woken: [search.7], else [carrier.7]:
 *                                            ring and what others pushed,    an idle one is told
 *                                         in turn                          or one of the queue
 *                                            global                        or of the global queue
 *
 *   before a sleep [carrier.6], after a release of the token [search.7]: a hit is a ring, a queue,
 *   the global queue
 *
 * Why it works  What others push goes where it went: to the queue, or the inbox if it is pinned. So
 *               a ring has one producer, and the rules of carrier.h hold for all else. A ring, and
 *               the global queue, are two more places where a task may be when [carrier.7] comes,
 *               and where [carrier.6] and [search.7] look. A carrier that parks has an empty ring
 *               and slot, so who wakes it and leaves relies on its queue alone. What a thief takes
 *               is for an instant nowhere: who looks then is told after it.
 *               The task of the slot is in no place where others look, nor need they: it is run
 *               before anything else.
 * Not promised  That tasks start in the order of their pushes: those that spill come later, and
 *               what others push takes turns with the ring. That they spill in a domain of one only
 *               to its own carrier.
 * Spec          specs/sched/LocalQueueCarrier.tla: NothingStrands, SlotIsNext;
 *               specs/queue/LocalQueue.tla: the ring.
 * Evidence      make check-specs T='LocalQueue', make stress T=local_queue_carrier,
 *               tests/sched/test_local_queue_carrier.py. */
#ifndef WP_BOUNDED_H
#define WP_BOUNDED_H

#include "queue/local_queue.h"
#include "sched/carrier.h"

/* Of a steal domain. ticket: of queue. */
typedef struct wp_global {
	wp_mpsc queue;
	wp_biased_lock ticket;
} wp_global;

/* Of a carrier. local: local_queue.h; global: written before it is shared. The rest: the owner. */
typedef struct wp_local_queue_carrier {
	wp_local_queue local;
	_Alignas(WP_LINE) wp_global *global;
	bool pushed_next; /* what others pushed has a turn, and then the ring */
	wp_atomic(uint64_t) spilled, looted;
} wp_local_queue_carrier;

/* Carriers of that domain may be bounded. [before it is shared | wait-free] */
void wp_global_init(wp_domain *domain, wp_global *global);
/* The carrier, whose domain has a global queue, is. [before it is shared | wait-free] */
void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded);

/* There is something that others may take: in its ring; in the global queue. [any thread |
 * wait-free] */
WP_INLINE bool wp__local_queue_carrier_has_some(wp_carrier *carrier)
{
	return carrier->bounded != NULL && wp_local_queue_stealable(&carrier->bounded->local) != 0;
}
WP_INLINE bool wp__global_has_some(wp_domain *domain)
{
	return domain->global != NULL && wp_mpsc_has_published(&domain->global->queue);
}

/* Something that others may take waits for that carrier. [any thread | wait-free] */
WP_INLINE bool wp__carrier_has_some(wp_carrier *carrier)
{
	return wp_mpsc_has_published(&carrier->queue) || wp__local_queue_carrier_has_some(carrier);
}

/* Something is queued there. [the owner | wait-free] */
WP_INLINE bool wp__carrier_has_own(wp_carrier *carrier)
{
	return wp_mpsc_has_published(&carrier->queue) || wp_mpsc_has_published(&carrier->inbox) ||
	       (carrier->bounded != NULL && !wp_local_queue_is_empty(&carrier->bounded->local));
}

/* True: others have spilt. The caller then tells who sleeps. [the owner | wait-free] */
bool wp__local_queue_carrier_push(wp_local_queue_carrier *bounded, wp_mpsc_node *task);
/* It has one task, which it takes next. What has just spilt is another. [the owner | wait-free] */
bool wp__local_queue_carrier_is_alone(wp_carrier *carrier);
/* As wp_carrier_poll. */
wp_mpsc_node *wp__local_queue_carrier_poll(wp_carrier *carrier);

/* For the next slot; or it is queued as any other. [the owner | as wp_carrier_submit_internal] */
void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task);
/* The task of the next slot, or NULL. [the owner | wait-free] */
wp_mpsc_node *wp__local_queue_carrier_next(wp_carrier *carrier);

/* A task from that victim (as of wp_search), or NULL; others may have come into the own ring. Of
 * carriers that are not bounded it is wp_carrier_steal. [the owner, RUNNING, who looks again after
 * that | as wp_carrier_steal] */
wp_mpsc_node *wp__local_queue_carrier_steal(wp_carrier *carrier, uint32_t victim);
/* The same, and who sleeps is told of these others. [the owner, RUNNING | may wake somebody] */
wp_mpsc_node *wp__local_queue_carrier_steal_more(wp_carrier *carrier, uint32_t victim);

/* All that is in ring and slot goes to that queue: how many. [any thread | lock-free] */
uint32_t wp__local_queue_carrier_hand_over(wp_carrier *carrier, wp_mpsc *to);
/* One that nobody runs any more, of the ring, the slot, or the global queue; or NULL. [the close |
 * wait-free] */
wp_mpsc_node *wp__local_queue_carrier_left(wp_carrier *carrier);

#endif
