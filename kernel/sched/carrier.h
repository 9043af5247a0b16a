/* SPDX-License-Identifier: Apache-2.0
 * carrier.h - one word says what a carrier does: run, sleep (and where), wake, search for a victim.
 *
 *   from             to             by whom, how
 *   RUNNING          PARKED_FUTEX   owner, store                 [carrier.1] will sleep at this word
 *   RUNNING          PARKED_POLLER  owner, store                 [carrier.1] will block in its poller
 *   PARKED_x         WAKING         submitter, compare-and-swap  [carrier.3] work for you
 *   PARKED_x         SEARCHING + v  searcher, compare-and-swap   [search.1] help v; you hold the token
 *   any but RUNNING  RUNNING        owner, one exchange          [carrier.2]
 *
 *   submitter                                            sleeper
 *   push                                                 [carrier.1] word := PARKED_x
 *   [carrier.7] fence                                    [idle_set.1] set the idle bit
 *   [carrier.3] wake its carrier, or                     [carrier.6] fence
 *   [idle_set.3] [search.5] [search.1] wake an idle one  own queues? every sibling's? a hit: give up the park
 *
 *   after each release of the token
 *   [search.7] fence; somebody idle and a hit in any queue: search again
 *
 * Why it works  Any two of the three fences are ordered: [carrier.7] of a submission, [carrier.6]
 *               of a park, [search.7] of a release. Submission before park: the sleeper sees the
 *               task. Park before submission: the submitter sees word and bit. The token was taken,
 *               and submission before release: its holder sees the task when it looks again.
 *               Release before submission: the token was free, or its next holder looks later.
 *               Release before park: the sleeper sees what the holder left. Park before release:
 *               the holder sees the sleeper. Of two submissions, to queue and inbox of one carrier,
 *               the later sees the earlier. A read-modify-write replaces no fence. The waker makes
 *               the one system call that fits the value its own compare-and-swap replaced. The exit
 *               is one exchange: a victim is read exactly once.
 * Not promised  Fairness between carriers; that a hit can be taken (its node may be hostage, see
 *               mpsc.h).
 * Spec          specs/sched/Carrier.tla: NoSignalLostOnExit, NoMissedSubmission,
 *               WakeReachesSleeper, RunsOnlyWhenRunning; specs/sched/Search.tla: WorkConservation,
 *               SubmitTerminates, PublishedIsTaken.
 * Evidence      make check-specs T='Carrier|Search', make stress T='carrier|search'. */
#ifndef WP_CARRIER_H
#define WP_CARRIER_H

#include "base/order.h"
#include "queue/biased_lock.h"
#include "queue/mpsc.h"
#include "queue/private_fifo.h"
#include "sched/search.h"

/* Values of the word. */
enum {
	WP_RUNNING = 0,
	WP_PARKED_FUTEX = 1,
	WP_PARKED_POLLER = 2,
	WP_WAKING = 3,
	WP_SEARCHING = 4, /* + index of the victim */
};

struct wp_task;

/* Sizes in lines: word 1, queue 2, inbox 2, ticket 1, what is written before it is shared 1, what
 * only the owner reads and writes 1. Writers: word as in the table; queue, inbox: any producer and
 * the consumer; ticket: owner and stealers; domain, index, near_*: init, near_*, poller, bounded,
 * is_placed also who makes it; from private FIFO on: the owner. Who polls what, and when:
 * run_queues.h. */
typedef struct wp_carrier {
	_Alignas(WP_LINE) wp_atomic(uint32_t) word;
	wp_mpsc queue;         /* what siblings may steal; consumers hold the ticket */
	wp_mpsc inbox;         /* what only the owner may take */
	wp_biased_lock ticket; /* of queue */
	_Alignas(WP_LINE) wp_domain *domain;
	uint32_t index;
	uint32_t near_first, near_end; /* its cluster in the domain: siblings to be preferred */
	struct wp_poller *poller; /* ends a PARKED_POLLER sleep; NULL: it parks at the futex only */
	/* has what it pushes to itself (local_queue_carrier.h); NULL: queue has it */
	struct wp_local_queue_carrier *bounded;
	bool is_placed; /* what is pushed to it is counted (group_placement.h) */
	/* what it has pushed to itself, where nobody steals */
	_Alignas(WP_LINE) wp_private_fifo private_fifo;
	wp_mpsc_node *next;   /* what its poller has stolen */
	struct wp_task *slot; /* its poller, when it has yielded */
	bool pushed_next;     /* what others pushed has a turn, and then what it pushed to itself */
	bool inbox_next;      /* of what others pushed: the inbox has a turn, and then the queue */
	uint32_t left;        /* what the word was when its last park ended; for counts */
} wp_carrier;

_Static_assert(offsetof(wp_carrier, queue) - offsetof(wp_carrier, word) >= WP_LINE,
	       "word shares a line");

/* Enters carrier `index` into the domain; NULL: nobody steals from it, nor it from others, and no
 * path takes ticket, token or idle bit. It lives until every submit, search and park in the domain
 * has returned: each may hold this carrier for its wake. [before it is shared | wait-free] */
void wp_carrier_init(wp_carrier *carrier, wp_domain *domain, uint32_t index);

/* Submits from outside this carrier's thread.
 * [any thread | a system call per thread woken, two at the most] */
void wp_carrier_submit(wp_carrier *carrier, wp_mpsc_node *task);
/* The same for a task that no sibling may take. */
void wp_carrier_submit_pinned(wp_carrier *carrier, wp_mpsc_node *task);
/* Submits from this carrier's own thread.
 * [the owner | a system call per thread woken, two at the most] */
void wp_carrier_submit_internal(wp_carrier *carrier, wp_mpsc_node *task);
/* Puts back a task that yielded; the carrier goes on to poll. [the owner | as submit_internal] */
void wp_carrier_reenqueue(wp_carrier *carrier, wp_mpsc_node *task);

/* There is something in its queue, and it goes into what may take long instead of polling: whoever
 * woke it for that may have left. [the owner, RUNNING | a system call if somebody is woken] */
void wp_carrier_get_help(wp_carrier *carrier);

/* Says that the carrier is about to sleep in `place`, and looks at every queue of the domain once
 * more. True: sleep now, then leave. False: there is work, the carrier is RUNNING again and *stolen
 * is a task that it took, or NULL (look at the own queues). [the owner, RUNNING | wakes somebody at
 * the most] */
bool wp_carrier_advertise(wp_carrier *carrier, uint32_t place, wp_mpsc_node **stolen);

/* After a sleep: RUNNING again. A task, if the wake was to help a sibling and it still had one.
 * NULL: poll; if that is NULL too, advertise again before anything that may take long: a waker may
 * have left relying on it. Or do not poll, and get help. [the owner | wakes somebody at the
 * most] */
wp_mpsc_node *wp_carrier_leave(wp_carrier *carrier);

/* Sleeps at the futex while parked there, or until the deadline; then leave.
 * [the owner after advertise(WP_PARKED_FUTEX) | blocks] */
void wp_carrier_sleep_until(wp_carrier *carrier, int64_t deadline_ns);

/* advertise, sleep, leave: a stolen task, or NULL: look at the own queues. [the owner, RUNNING |
 * blocks] */
wp_mpsc_node *wp_carrier_park(wp_carrier *carrier);

WP_INLINE bool wp__is_parked(uint32_t word)
{
	return word == WP_PARKED_FUTEX || word == WP_PARKED_POLLER;
}

/* Ends the sleep in the place that the caller's compare-and-swap replaced. [any thread | one system
 * call] */
void wp__carrier_wake(wp_carrier *carrier, uint32_t place);

#endif
