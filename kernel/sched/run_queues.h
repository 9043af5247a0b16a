/* SPDX-License-Identifier: Apache-2.0
 * run_queues.h - every place where a task may wait to be run. This file has the order in which a
 * carrier polls these places, and the predicates that tell whether one of them has a task.
 *
 *      place                  pushed by                      taken by              predicates
 *   1  group's moved tasks    the thread that moves the      a carrier, one in a   rest, called
 *      (group_placement.h)    tasks of a blocked carrier     turn of its loop
 *   2  stolen: `next`         its poller, which stole it     the carrier           private
 *   3  ring's next slot       the end of a step that yields  the carrier, also     own
 *                             to that task                   right after the step
 *   4  private FIFO           the carrier; nobody steals     the carrier           private
 *   5  ring                   the carrier; others steal      the carrier, thieves  own, some, hit
 *   6  run queue: `queue`     others; the carrier, if it     the carrier, thieves  own, some, hit
 *                             has neither 4 nor 5; a full    (by its ticket)
 *                             ring: half of it
 *   7  inbox: `inbox`         any thread, pinned tasks       the carrier           own
 *   8  poller: `slot`         the poller, when it yields     the carrier, once in  none
 *                                                            a turn of its loop
 *   9  a sibling's 5 and 6    see there                      the carrier, a thief  hit
 *  10  timers (timer.h)       the thread that arms           the carrier: what is  the deadline
 *                                                            due goes to 4 .. 7    of the sleep
 *
 *   one poll         2, then 3; then what the carrier pushed (4 or 5) and what others pushed, or
 *                    has overflowed (6 and 7): the two take turns and fall back on one another, as
 *                    do 6 and 7
 *   one turn of the  10, and again every 16 tasks; 1; polls, until they give nothing or time is
 *   loop (worker.c)  over; 8; nothing was run: 9, of two siblings drawn at random; nothing: park
 *   before a sleep   [carrier.1] parked, [carrier.6] fence; own; 9, the nearest first, without
 *                    taking; rest
 *   a close          4, 2, 6, 7, 3, 5; before that it returns 1 to the tasks' homes
 *
 *   private   wp__carrier_has_private: there is a task that only its owner pushes and takes
 *   own       wp__carrier_has_own: there is a task that others may push or take: the
 *             recheck before a sleep
 *   both      wp__carrier_has_runnable: there is something to run here
 *   some      wp__carrier_has_some: siblings may take something here
 *   hit       wp__carrier_is_hit: as some, but not the one task that its carrier was woken for
 *   rest      wp__group_placement_rest: no task was moved, or the carrier may take none
 *   called    wp__worker_is_called: the loop must stop polling, for 1 or to give up its role
 *
 * Two more places are never polled. A step keeps at most one task until it ends (`kept`,
 * carrier_tasks.h). A carrier that has read its stop sets aside for the close what its poller does
 * not need (`behind`, worker.h).
 *
 * Why it works  A recheck is the look at all queues before a sleep. It looks where another thread
 *               may have pushed since the last poll. Only the carrier's own thread pushes to
 *               `next`, `slot` and the private FIFO, and that thread is the one that parks, so
 *               these places need no recheck. A poller, however, parks in the middle of a step, so
 *               it looks there first. The two sources of a poll take turns, so a task that yields
 *               for ever cannot starve the other source.
 * Not promised  A poll may find nothing although a predicate is true: a producer may be stalled
 *               between the two steps of its push (mpsc.h), or a thief was faster.
 * Prior art     Go and Tokio: a next slot, a bounded ring of 256 from which thieves take half, and
 *               a shared queue for what overflows.
 * Spec          specs/sched/Search.tla: WorkConservation; specs/sched/LocalQueueCarrier.tla:
 *               NothingStrands, SlotIsNext; specs/sched/Group.tla: NoTaskLost;
 *               specs/sched/Poller.tla: StolenIsKept, PollerRuns.
 * Evidence      make check-specs T='Search|Group|Poller', make stress
 *               T='carrier|search|local_queue|poller', tests/sched/test_run_queues.py,
 *               test_worker_idle.py. */
#ifndef WP_RUN_QUEUES_H
#define WP_RUN_QUEUES_H

#include "sched/carrier.h"
#include "sched/local_queue_carrier.h"

/* Returns true if only the carrier itself takes what it pushes to itself. [any thread | wait-free]
 */
WP_INLINE bool wp__carrier_has_private_fifo(const wp_carrier *carrier)
{
	return carrier->domain == NULL;
}

/* Predicates: is there something to run? */

/* Returns true if a task is in a place to which only the owner pushes and from which only the owner
 * takes. [the owner | wait-free] */
WP_INLINE bool wp__carrier_has_private(const wp_carrier *carrier)
{
	return carrier->next != NULL || !wp_private_fifo_is_empty(&carrier->private_fifo);
}

/* Returns true if there is a task that others may have pushed and that is not taken yet. [the owner
 * | wait-free] */
WP_INLINE bool wp__carrier_has_pushed(wp_carrier *carrier)
{
	return wp_mpsc_has_published(&carrier->queue) || wp_mpsc_has_published(&carrier->inbox);
}

/* Returns true if a task is in a place to which others push or from which they take; [carrier.6]
 * looks here. [the owner | wait-free] */
WP_INLINE bool wp__carrier_has_own(wp_carrier *carrier)
{
	return wp__carrier_has_pushed(carrier) ||
	       (carrier->bounded != NULL && !wp_local_queue_is_empty(&carrier->bounded->local));
}

/* Returns true if there is something to run here. [the owner | wait-free] */
WP_INLINE bool wp__carrier_has_runnable(wp_carrier *carrier)
{
	return wp__carrier_has_private(carrier) || wp__carrier_has_own(carrier);
}

/* Returns true if a task is in the carrier's ring, where siblings may take it. [any thread |
 * wait-free] */
WP_INLINE bool wp__local_queue_carrier_has_some(wp_carrier *carrier)
{
	return carrier->bounded != NULL && wp_local_queue_stealable(&carrier->bounded->local) != 0;
}

/* Returns true if a task is in a place where siblings may take it. [any thread | wait-free] */
WP_INLINE bool wp__carrier_has_some(wp_carrier *carrier)
{
	return wp_mpsc_has_published(&carrier->queue) || wp__local_queue_carrier_has_some(carrier);
}

/* Like wp__carrier_has_some, except for the one task that the carrier was woken for. [any thread |
 * wait-free] */
bool wp__carrier_is_hit(wp_carrier *carrier, bool looks_at_ring);

/* Returns true if the carrier is parked and has only `task`, which is in that one of its queues.
 * [any thread | wait-free] */
WP_INLINE bool wp__carrier_is_alone(wp_carrier *carrier, wp_mpsc *queue, wp_mpsc_node *task)
{
	return wp_mpsc_is_alone(queue, task) &&
	       wp_mpsc_is_quiescent(queue == &carrier->queue ? &carrier->inbox : &carrier->queue);
}

/* Returns true if the carrier has exactly one task, which it takes next. [the owner | wait-free] */
WP_INLINE bool wp__local_queue_carrier_is_alone(wp_carrier *carrier)
{
	wp_local_queue *local = &carrier->bounded->local;

	return wp_local_queue_stealable(local) == 1 && !wp__local_queue_has_next(local) &&
	       wp_mpsc_is_quiescent(&carrier->queue) && wp_mpsc_is_quiescent(&carrier->inbox);
}

/* Polls: what runs next? */

/* Takes the carrier's next own task, or returns NULL. [the owner, RUNNING | waits for at most one
 * stealer] */
wp_mpsc_node *wp_carrier_poll(wp_carrier *carrier);

/* Takes the task of the ring's next slot, or returns NULL. [the owner, which has a ring |
 * wait-free] */
wp_mpsc_node *wp__local_queue_carrier_next(wp_carrier *carrier);

/* Takes the carrier's poller, if it has yielded since its last turn. Otherwise returns NULL. [the
 * owner | wait-free] */
WP_INLINE struct wp_task *wp__poller_take_slot(wp_carrier *carrier)
{
	struct wp_task *task = carrier->slot;

	carrier->slot = NULL;
	return task;
}

/* Takes the oldest task of a carrier's queue. Returns NULL if none can be taken. [any thread |
 * tries again if it loses the ticket] */
wp_mpsc_node *wp_carrier_steal(wp_carrier *victim);

/* Steals from that victim (an index, as in wp_search). Returns a task, or NULL; more tasks may have
 * come into the thief's own ring. Without rings it is wp_carrier_steal. [the owner, RUNNING, which
 * must look at its ring afterwards | as wp_carrier_steal] */
wp_mpsc_node *wp__local_queue_carrier_steal(wp_carrier *carrier, uint32_t victim);
/* Like wp__local_queue_carrier_steal, and wakes an idle sibling for the tasks that came along. [the
 * owner, RUNNING | may wake a carrier] */
wp_mpsc_node *wp__local_queue_carrier_steal_more(wp_carrier *carrier, uint32_t victim);

/* Takes a task that will not run any more, from all places of the carrier except that of its
 * poller. Returns NULL if there is none. [the close, when the carrier and all thieves have left |
 * tries again if it loses the ticket] */
wp_mpsc_node *wp__carrier_take_left(wp_carrier *carrier);

#endif
