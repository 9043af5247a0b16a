/* SPDX-License-Identifier: Apache-2.0
 * carrier.c - the submission and park paths of carrier.h. */
#include "sched/carrier.h"

#include "base/error.h"
#include "base/futex.h"
#include "sched/poller.h"
#include "sched/run_queues.h"

void wp_carrier_init(wp_carrier *carrier, wp_domain *domain, uint32_t index)
{
	wp_init(&carrier->word, WP_RUNNING);
	wp_mpsc_init(&carrier->queue);
	wp_mpsc_init(&carrier->inbox);
	wp_biased_lock_init(&carrier->ticket);
	carrier->domain = domain;
	carrier->index = index;
	carrier->near_first = 0;
	carrier->near_end = domain == NULL ? 0 : domain->count;
	carrier->poller = NULL;
	carrier->bounded = NULL;
	carrier->private_fifo = (wp_private_fifo){0};
	carrier->next = NULL;
	carrier->slot = NULL;
	carrier->pushed_next = false;
	carrier->inbox_next = false;
	carrier->put_off = WP_NOBODY;
	carrier->delay_ns = 0;
	wp__counted(carrier->is_placed = false);
	if (domain != NULL)
		domain->carriers[index] = carrier;
}

static void search_if_idle(wp_carrier *victim)
{
	wp_domain *domain = victim->domain;

	if (domain != NULL && !wp_idle_set_is_empty(&domain->idle, domain->count))
		wp_search(domain, victim->index);
}

/* The fence between a push and the look at the words of carriers. [any thread | wait-free] */
static void submit_fence(void)
{
	/* [carrier.7] seq_cst fence; pairs carrier.7, carrier.6, search.7; upholds
	 * Search!WorkConservation: the push comes before the look at word, bit and token, and
	 * before the look at the other queue, to which another thread may have submitted too. */
	wp_fence_seq_cst();
}

/* Wakes the carrier for a task. Returns true if the carrier slept, was woken by this call, and will
 * run this task next. [any thread | one system call if it slept] */
static bool wake_for(wp_carrier *carrier, wp_mpsc *queue, wp_mpsc_node *task)
{
	/* [carrier.4] relaxed: ordered by [carrier.7]; pairs carrier.1; upholds
	 * Carrier!NoMissedSubmission. */
	uint32_t word = wp_load_relaxed(&carrier->word), place = word;
	bool alone;

	if (!wp__is_parked(word))
		return false;
	/* This is read before the wake, so it means that the carrier takes this task next. After
	 * the wake, the carrier may have taken another task, which runs for long, and this task
	 * would be alone behind it. */
	alone = wp__carrier_is_alone(carrier, queue, task);
	/* [carrier.3] acq_rel; pairs carrier.1, carrier.2, carrier.5, run_queues.1; upholds
	 * Carrier!WakeReachesSleeper: there is one waker, which knows the place and the poller, and
	 * the look above comes before. kept: [carrier.7] publishes what was pushed, but only
	 * release keeps the look's loads before the wake on machines that let a load wait for a
	 * later store, which RC11 does not have. */
	if (!wp_cas_acq_rel(&carrier->word, &word, WP_WAKING))
		return false;
	wp__carrier_wake(carrier, place);
	return alone;
}

void wp_carrier_submit(wp_carrier *carrier, wp_mpsc_node *task)
{
	wp_mpsc_push(&carrier->queue, task);
	submit_fence();
	if (!wake_for(carrier, &carrier->queue, task))
		search_if_idle(carrier);
}

void wp_carrier_submit_pinned(wp_carrier *carrier, wp_mpsc_node *task)
{
	wp_mpsc_push(&carrier->inbox, task);
	submit_fence();
	/* The carrier may take this task first, although the submitter that woke it for a task of
	 * the queue has already left. It would be as good to ask whether the queue has something
	 * published: a producer that is between the two steps of its push looks for a helper itself
	 * when it has published (checked in MCSearchPinned, 530,155 states). */
	if (!wake_for(carrier, &carrier->inbox, task) && !wp_mpsc_is_quiescent(&carrier->queue))
		search_if_idle(carrier);
}

void wp_carrier_get_help(wp_carrier *carrier)
{
	/* Without a domain only the owner looks at its queues, and the owner is awake. */
	if (carrier->domain == NULL)
		return;
	submit_fence();
	search_if_idle(carrier);
}

/* Pushes to the ring or the queue. [the owner | wait-free] */
static void push_own(wp_carrier *carrier, wp_mpsc_node *task)
{
	if (carrier->bounded != NULL)
		wp__local_queue_carrier_push(carrier, task);
	else
		wp_mpsc_push(&carrier->queue, task);
}

void wp_carrier_submit_internal(wp_carrier *carrier, wp_mpsc_node *task)
{
	push_own(carrier, task);
	wp_carrier_get_help(carrier);
}

void wp_carrier_reenqueue(wp_carrier *carrier, wp_mpsc_node *task)
{
	push_own(carrier, task);
	if (carrier->domain == NULL)
		return;
	submit_fence();
	if (!(carrier->bounded == NULL ? wp__carrier_is_alone(carrier, &carrier->queue, task)
				       : wp__local_queue_carrier_is_alone(carrier)))
		search_if_idle(carrier);
}

/* The part of a search that the woken carrier does: takes one task, releases its token, and looks
 * again. [a token's holder | a system call if a carrier is woken] */
static wp_mpsc_node *serve(wp_carrier *carrier, uint32_t victim)
{
	wp_domain *domain = carrier->domain;
	wp_mpsc_node *task = wp__local_queue_carrier_steal(carrier, victim);

	wp_search_stop(domain);
	if (wp__search_recheck(domain, &victim))
		wp_search(domain, victim);
	return task;
}

/* Ends a park: the carrier is neither parked nor idle any more. Returns the word of before. [the
 * owner | wait-free] */
static uint32_t end_park(wp_carrier *carrier)
{
	uint32_t old;

	if (carrier->domain != NULL)
		wp_idle_set_remove(&carrier->domain->idle, carrier->index);
	/* [carrier.2] acquire; pairs carrier.3, carrier.9, search.1, timer.11, poller.3; upholds
	 * Carrier!NoSignalLostOnExit: the word is read and changed in one step. */
	old = wp_exchange_acquire(&carrier->word, WP_RUNNING);
	wp__counted(carrier->left = old);
	if (carrier->poller != NULL)
		wp__poller_left(carrier->poller, old);
	return old;
}

wp_mpsc_node *wp_carrier_leave(wp_carrier *carrier)
{
	uint32_t victim = carrier->put_off, sent = carrier->left, old = end_park(carrier);

	(void)sent; /* only counted */
	if (victim == WP_NOBODY)
		return old >= WP_SEARCHING ? serve(carrier, old - WP_SEARCHING) : NULL;
	carrier->put_off = WP_NOBODY;
	wp__counted(carrier->left = sent >= WP_SEARCHING ? sent : old);
	/* It was sent to a second victim while it put off the steal, and has two tokens. */
	if (old >= WP_SEARCHING) {
		wp__counted(sent >= WP_SEARCHING
				    ? wp__count_shared(&carrier->domain->counts.no_idle)
				    : (void)0);
		wp_search_stop(carrier->domain);
	}
	return serve(carrier, victim);
}

/* Gives up a park that found something. It returns a task of the victim, unless the carrier has
 * tasks of its own (is_own) or a waker came in between. [the owner | wakes one carrier at the most]
 */
static wp_mpsc_node *give_up_park(wp_carrier *carrier, bool is_own, uint32_t victim)
{
	uint32_t old = end_park(carrier);

	if (old >= WP_SEARCHING)
		return serve(carrier, old - WP_SEARCHING);
	/* If the word was WAKING, a submitter relies on this carrier for its task, and the carrier
	 * must not start another task before that one. */
	if (!is_own && wp__is_parked(old))
		return wp__local_queue_carrier_steal_more(carrier, victim);
	return NULL;
}

/* Says in its word where the carrier is about to sleep. Returns true if it has tasks of its own, and
 * must not sleep. [the owner | wait-free] */
static bool announce(wp_carrier *carrier, uint32_t place)
{
	/* [carrier.1] release; pairs carrier.3, carrier.4, carrier_tasks.1, search.1, search.2,
	 * search.4, timer.10, timer.11; upholds Poller!WakeupIsOver: a waker knows the carrier's
	 * poller. All other ordering comes from idle_set.1 and [carrier.6]. */
	wp_store_release(&carrier->word, place);
	if (carrier->domain != NULL)
		wp_idle_set_add(&carrier->domain->idle, carrier->index);
	/* [carrier.6] seq_cst fence; pairs carrier.7, search.7, timer.9, spare_carrier.5; upholds
	 * Search!WorkConservation: word and bit are set before the look at the queues, and before
	 * the look at the deadline of the sleep. */
	wp_fence_seq_cst();
	return wp__carrier_has_own(carrier);
}

bool wp__carrier_puts_off(wp_carrier *carrier, uint32_t victim)
{
	wp_carrier *from = carrier->domain->carriers[victim];

	/* [carrier.9] relaxed: a word that is stale costs a delay; pairs carrier.2; upholds
	 * Search!PublishedIsTaken, as a steal that was put off follows in any case. */
	return carrier->delay_ns > 0 && wp_load_relaxed(&from->word) == WP_RUNNING &&
	       wp_mpsc_published(&from->queue) <= 1;
}

bool wp_carrier_advertise(wp_carrier *carrier, uint32_t place, wp_mpsc_node **stolen)
{
	bool is_own = announce(carrier, place);
	uint32_t victim = 0;

	*stolen = NULL;
	if (!is_own && (carrier->domain == NULL || !wp__search_around(carrier, &victim)))
		return true;
	if (!is_own && place == WP_PARKED_FUTEX && wp__carrier_puts_off(carrier, victim) &&
	    wp_search_start(carrier->domain)) {
		carrier->put_off = victim;
		wp__counted(carrier->left = WP_RUNNING);
		return true;
	}
	*stolen = give_up_park(carrier, is_own, victim);
	return false;
}

bool wp_carrier_put_off(wp_carrier *carrier)
{
	/* [carrier.8] relaxed: ordered by [carrier.6], which follows; pairs search.1; upholds
	 * Search!EveryStartSearchMatchedByOneStop: the token came with the wake. */
	uint32_t word = wp_load_relaxed(&carrier->word);

	if (word < WP_SEARCHING || carrier->put_off != WP_NOBODY ||
	    !wp__carrier_puts_off(carrier, word - WP_SEARCHING))
		return false;
	carrier->put_off = word - WP_SEARCHING;
	wp__counted(carrier->left = word);
	return !announce(carrier, WP_PARKED_FUTEX);
}

void wp_carrier_sleep_until(wp_carrier *carrier, int64_t deadline_ns)
{
	/* [carrier.5] relaxed: a word that is stale costs one system call, never a lost wakeup;
	 * pairs carrier.3, search.1, timer.11; upholds Carrier!WakeReachesSleeper: the system
	 * compares the word again when it queues the thread. */
	while (wp_load_relaxed(&carrier->word) == WP_PARKED_FUTEX)
		if (wp_futex_wait(&carrier->word, WP_PARKED_FUTEX, deadline_ns) == WP_TIMEOUT)
			return;
}

wp_mpsc_node *wp_carrier_park(wp_carrier *carrier)
{
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(carrier, WP_PARKED_FUTEX, &stolen))
		return stolen;
	do
		wp_carrier_sleep_until(carrier, wp__carrier_until(carrier, WP_FOREVER));
	while (wp_carrier_put_off(carrier));
	return wp_carrier_leave(carrier);
}
