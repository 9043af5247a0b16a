/* SPDX-License-Identifier: Apache-2.0
 * carrier.h - a carrier is an OS thread that runs tasks, one at a time. One word says what it does
 * now: run, sleep (and where), wake up, or search for a victim, a sibling to steal from. Submission
 * and parking around this word are an eventcount that never loses a wakeup.
 *
 *   from             to             by                           means
 *   RUNNING          PARKED_FUTEX   owner, store                 [carrier.1] will sleep at the word
 *   RUNNING          PARKED_POLLER  owner, store                 [carrier.1] will block in a poller
 *   PARKED_x         WAKING         submitter, compare-and-swap  [carrier.3] there is work for it
 *   PARKED_x         SEARCHING + v  searcher, compare-and-swap   [search.1] it must steal from
 *                                                                carrier v, with a token
 *   SEARCHING + v    PARKED_FUTEX   owner, store                 [carrier.1] puts the steal off
 *   any but RUNNING  RUNNING        owner, one exchange          [carrier.2]
 *
 *   submitter                                            sleeper
 *   push                                                 [carrier.1] word := PARKED_x
 *   [carrier.7] fence                                    [idle_set.1] set the idle bit
 *   [carrier.3] wake its carrier, or                     [carrier.6] fence
 *   [idle_set.3] [search.5] [search.1] wake an idle one  a hit in own or siblings' queues? give up
 *                                                        the park
 *
 *   after each release of a token (search.h)
 *   [search.7] fence; a carrier is idle, and some queue has a task for it (a hit): search again
 *
 * Why it works  Any two of the three fences are ordered: [carrier.7] of a submission, [carrier.6]
 *               of a park, [search.7] of a release of a token.
 *                 first        then         so
 *                 submission   park         the sleeper sees the task
 *                 park         submission   the submitter sees word and bit
 *                 submission   release      the tokens were taken; this holder sees the task when
 *                                           it looks again
 *                 release      submission   this token was free, or its next holder looks later
 *                 release      park         the sleeper sees what the holder left
 *                 park         release      the holder sees the sleeper
 *                 submission   submission   to queue and inbox of one carrier: the later submitter
 *                                           sees the earlier task
 *               A read-modify-write does not replace any of the fences. The waker makes the one
 *               system call that fits the value which its own compare-and-swap replaced. The exit
 *               from a park is one exchange, so a victim is read exactly once.
 *               A carrier may put its steal off. Often the victim takes its only task itself before
 *               the carrier that was woken for it comes. So a carrier whose last steal was in vain
 *               sleeps for a moment longer, and keeps its token, so that fewer carriers are woken to
 *               steal meanwhile. This sleep is a park as any other: a submission to the carrier
 *               ends it.
 * Not promised  Fairness between carriers. A hit, a queue that has something to take
 *               (run_queues.h), may not be taken: a stalled push may hide its task (mpsc.h).
 * Prior art     Go's spinning Ms and Tokio's searching workers: both bound the searchers in flight,
 *               and both look at all queues once more before a thread sleeps.
 * Spec          specs/sched/Carrier.tla: NoSignalLostOnExit, NoMissedSubmission,
 *               WakeReachesSleeper, RunsOnlyWhenRunning; specs/sched/Search.tla: WorkConservation,
 *               SubmitTerminates, PublishedIsTaken.
 * Evidence      make check-specs T='Carrier|Search', make stress T='carrier|search'. */
#ifndef WP_CARRIER_H
#define WP_CARRIER_H

#include "base/futex.h"
#include "base/order.h"
#include "queue/biased_lock.h"
#include "queue/mpsc.h"
#include "queue/private_fifo.h"
#include "sched/search.h"

/* Values of the word.
 *   RUNNING        The carrier runs its loop or a task, and looks at its queues before it sleeps.
 *   PARKED_FUTEX   The carrier sleeps at the word, or is about to.
 *   PARKED_POLLER  The carrier's poller blocks in the system, or is about to.
 *   WAKING         A submitter or a timer has claimed the wake: the carrier polls its own queues.
 *   SEARCHING + v  A searcher has claimed the wake: the carrier must steal from carrier v, and
 *                  holds a token of the domain. */
enum {
	WP_RUNNING = 0,
	WP_PARKED_FUTEX = 1,
	WP_PARKED_POLLER = 2,
	WP_WAKING = 3,
	WP_SEARCHING = 4, /* + index of the victim */
};

#define WP_NOBODY UINT32_MAX /* not the index of a carrier */

struct wp_task;

/* In cache lines, `word` takes 1, `queue` 2, `inbox` 2, `ticket` 1, what is written before the
 * carrier is shared 1, and what only the owner reads and writes 1. `word` is written as the table
 * says; `queue` and `inbox` by any producer and the consumer; `ticket` by the owner and stealers;
 * `domain` and `index` by init; `near_*`, `poller`, `bounded` and `is_placed` by init and the maker
 * of the carrier; the fields from `private_fifo` on by the owner. run_queues.h says in which order
 * the places of tasks are polled. */
typedef struct wp_carrier {
	_Alignas(WP_LINE) wp_atomic(uint32_t) word;
	wp_mpsc queue;         /* tasks that siblings may steal; a consumer holds the ticket */
	wp_mpsc inbox;         /* tasks that only the owner may take */
	wp_biased_lock ticket; /* the lock of the queue's consumers */
	_Alignas(WP_LINE) wp_domain *domain;
	uint32_t index;
	uint32_t near_first, near_end; /* its cluster in the domain: preferred siblings */
	/* ends a PARKED_POLLER sleep; NULL: the carrier only parks at the futex */
	struct wp_poller *poller;
	/* The ring for its own pushes (local_queue_carrier.h). NULL: its own pushes go to `queue`.
	 */
	struct wp_local_queue_carrier *bounded;
	bool is_placed; /* pushes to it are counted (group_placement.h) */
	/* Its own pushes, if no sibling may steal from it. */
	_Alignas(WP_LINE) wp_private_fifo private_fifo;
	wp_mpsc_node *next;   /* the task that its poller has stolen */
	struct wp_task *slot; /* its poller, after a yield */
	bool pushed_next;     /* the next poll begins with what others pushed */
	bool inbox_next;      /* of what others pushed, the inbox comes first in the next poll */
	uint32_t put_off;     /* the victim from which it steals later, or WP_NOBODY */
	uint32_t left;        /* the word that ended its last park; for counts and delays */
	int64_t delay_ns;     /* for how long it puts a steal off; 0: it steals at once */
} wp_carrier;

_Static_assert(offsetof(wp_carrier, queue) - offsetof(wp_carrier, word) >= WP_LINE,
	       "word shares a line");

/* Enters carrier `index` into the domain. If `domain` is NULL, the carrier neither steals nor is
 * stolen from, and never uses a ticket, a token or an idle bit. The carrier must live until every
 * submit, search and park in the domain has returned, because each of them may still be about to
 * wake it. [before it is shared | wait-free] */
void wp_carrier_init(wp_carrier *carrier, wp_domain *domain, uint32_t index);

/* Submits a task from outside this carrier's thread. [any thread | a system call per thread woken,
 * two at the most] */
void wp_carrier_submit(wp_carrier *carrier, wp_mpsc_node *task);
/* Like wp_carrier_submit, for a task that no sibling may take. */
void wp_carrier_submit_pinned(wp_carrier *carrier, wp_mpsc_node *task);
/* Submits a task from this carrier's own thread. [the owner | a system call per thread woken, two
 * at the most] */
void wp_carrier_submit_internal(wp_carrier *carrier, wp_mpsc_node *task);
/* Puts back a task that yielded; the carrier then continues to poll. [the owner | as
 * wp_carrier_submit_internal] */
void wp_carrier_reenqueue(wp_carrier *carrier, wp_mpsc_node *task);

/* Wakes an idle sibling for the work in this carrier's queue. Call it before the carrier does
 * something long instead of polling: a submitter may have woken this carrier for that work, and
 * relies on it. [the owner, RUNNING | a system call if a sibling is woken] */
void wp_carrier_get_help(wp_carrier *carrier);

/* Announces that the carrier is about to sleep in `place`, and then looks at every queue of the
 * domain once more. Returns true if the carrier may sleep; it must then sleep, and call
 * wp_carrier_leave. Returns false if there is work; the carrier is then RUNNING again, and *stolen
 * is a task that it took, or NULL if the work is in its own queues. [the owner, RUNNING | wakes one
 * carrier at the most] */
bool wp_carrier_advertise(wp_carrier *carrier, uint32_t place, wp_mpsc_node **stolen);

/* Ends a park: the carrier is RUNNING again. If the wake was to help a sibling, returns a task that
 * it stole there. If it returns NULL, the caller must poll. If the poll finds nothing either, it
 * must advertise again before it does anything that may take long, because a waker may rely on this
 * carrier. In place of the poll it may also call wp_carrier_get_help. [the owner | wakes one
 * carrier at the most] */
wp_mpsc_node *wp_carrier_leave(wp_carrier *carrier);

/* Call this when a sleep at the futex has ended. Returns true if the carrier was woken to steal, and
 * puts the steal off: it must then sleep again, until wp__carrier_until at the latest. In any case
 * wp_carrier_leave must follow. [the owner after wp_carrier_sleep_until | wait-free] */
bool wp_carrier_put_off(wp_carrier *carrier);

/* Returns true if a steal from that victim should be put off: the victim runs, and has one task at
 * the most. [the owner | wait-free] */
bool wp__carrier_puts_off(wp_carrier *carrier, uint32_t victim);

/* Returns until when a parked carrier may sleep, if its timers let it sleep until `earliest_ns`.
 * [the owner, parked | wait-free] */
WP_INLINE int64_t wp__carrier_until(const wp_carrier *carrier, int64_t earliest_ns)
{
	int64_t until_ns;

	if (carrier->put_off == WP_NOBODY)
		return earliest_ns;
	until_ns = wp_clock_ns() + carrier->delay_ns;
	return until_ns < earliest_ns ? until_ns : earliest_ns;
}

/* Sleeps at the futex until the carrier is woken or the deadline passes. wp_carrier_leave must
 * follow. [the owner after advertise(WP_PARKED_FUTEX) | blocks] */
void wp_carrier_sleep_until(wp_carrier *carrier, int64_t deadline_ns);

/* The whole park: advertise, sleep and leave. Returns a stolen task. If it returns NULL, the caller
 * must look at its own queues. [the owner, RUNNING | blocks] */
wp_mpsc_node *wp_carrier_park(wp_carrier *carrier);

WP_INLINE bool wp__is_parked(uint32_t word)
{
	return word == WP_PARKED_FUTEX || word == WP_PARKED_POLLER;
}

/* Ends the sleep of a carrier. `place` is the value that the caller's compare-and-swap has
 * replaced. [any thread | one system call] */
void wp__carrier_wake(wp_carrier *carrier, uint32_t place);

#endif
