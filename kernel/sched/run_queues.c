/* SPDX-License-Identifier: Apache-2.0
 * run_queues.c - what a carrier runs next. See run_queues.h. */
#include "sched/run_queues.h"

bool wp__carrier_is_hit(wp_carrier *carrier, bool looks_at_ring)
{
	int published;

	/* A carrier that parks has an empty ring until it ends the park, so no waker relies on this
	 * check. */
	if (looks_at_ring && wp__local_queue_carrier_has_some(carrier))
		return true;
	/* The counts are read first, and the word after them. A carrier that has left WAKING and
	 * taken its task may run that task for long, and the one task that is seen here is then
	 * another one. */
	published = wp_mpsc_published(&carrier->queue);
	if (published != 1 || !wp_mpsc_is_quiescent(&carrier->inbox))
		return published != 0;
	/* [run_queues.1] relaxed: ordered by mpsc.10, mpsc.11 and mpsc.12; pairs carrier.3,
	 * timer.11; upholds Search!WorkConservation: no thief takes the one task of a carrier that
	 * was woken for it. */
	return wp_load_relaxed(&carrier->word) != WP_WAKING;
}

static wp_mpsc_node *poll_queue(wp_carrier *carrier)
{
	wp_mpsc_node *task;
	uint64_t ticket;

	if (carrier->domain == NULL)
		return wp_mpsc_pop(&carrier->queue);
	if (!wp_mpsc_has_published(&carrier->queue))
		return NULL;
	ticket = wp_biased_lock_acquire(&carrier->ticket);
	task = wp_mpsc_pop(&carrier->queue);
	wp_biased_lock_release(&carrier->ticket, ticket);
	/* Either the push of a task is stalled, or another thread took the task. Yield, so that a
	 * stalled producer can run. */
	if (task == NULL)
		wp_yield();
	return task;
}

/* Polls what others pushed: queue and inbox take turns. [the owner | as wp_carrier_poll] */
static wp_mpsc_node *poll_pushed(wp_carrier *carrier)
{
	bool inbox_first = carrier->inbox_next;
	wp_mpsc_node *task;

	carrier->inbox_next = !inbox_first;
	task = inbox_first ? wp_mpsc_pop(&carrier->inbox) : poll_queue(carrier);
	if (task != NULL)
		return task;
	return inbox_first ? poll_queue(carrier) : wp_mpsc_pop(&carrier->inbox);
}

wp_mpsc_node *wp__local_queue_carrier_next(wp_carrier *carrier)
{
	wp_local_queue *local = &carrier->bounded->local;

	return wp__local_queue_has_next(local) ? wp__local_queue_take_next(local) : NULL;
}

/* Polls what the carrier has pushed to itself, if it has a ring or a private FIFO. [the owner |
 * lock-free] */
static wp_mpsc_node *poll_own(wp_carrier *carrier)
{
	return carrier->bounded != NULL ? wp_local_queue_pop(&carrier->bounded->local)
					: wp_private_fifo_pop(&carrier->private_fifo);
}

/* Returns true if it is the turn of what others have pushed or what has overflowed, not of the
 * carrier's own pushes. [the owner | wait-free] */
static bool is_turn_of_pushed(wp_carrier *carrier)
{
	if (carrier->bounded != NULL)
		return wp_local_queue_is_global_turn(&carrier->bounded->local);
	carrier->pushed_next = !carrier->pushed_next;
	return !carrier->pushed_next;
}

/* Polls both sources, which take turns. [the owner | as wp_carrier_poll] */
static wp_mpsc_node *poll_both(wp_carrier *carrier)
{
	bool pushed_first = is_turn_of_pushed(carrier);
	wp_mpsc_node *task = NULL;

	if (pushed_first && wp__carrier_has_pushed(carrier))
		task = poll_pushed(carrier);
	if (task == NULL)
		task = poll_own(carrier);
	if (task == NULL && !pushed_first)
		task = poll_pushed(carrier);
	return task;
}

wp_mpsc_node *wp_carrier_poll(wp_carrier *carrier)
{
	wp_mpsc_node *task = carrier->next;

	if (task != NULL) {
		carrier->next = NULL;
		return task;
	}
	if (carrier->bounded == NULL)
		return wp_private_fifo_is_empty(&carrier->private_fifo) ? poll_pushed(carrier)
									: poll_both(carrier);
	task = wp__local_queue_carrier_next(carrier);
	return task != NULL ? task : poll_both(carrier);
}

wp_mpsc_node *wp_carrier_steal(wp_carrier *victim)
{
	unsigned turns = 0;
	uint64_t my;

	while (wp_mpsc_has_published(&victim->queue)) {
		if (wp_biased_lock_try_acquire(&victim->ticket, &my)) {
			wp_mpsc_node *task = wp_mpsc_pop(&victim->queue);

			wp_biased_lock_release(&victim->ticket, my);
			if (task == NULL)
				wp_yield(); /* as in poll_queue */
			return task;
		}
		/* The ticket was lost to the owner or to another thief, which may leave more tasks
		 * behind. */
		wp__counted(wp__count_shared(&victim->domain->counts.lost_tickets));
		wp_wait_a_turn(&turns);
	}
	return NULL;
}

/* Steals half of the victim's ring, or one task of its queue. Returns how many came from the ring.
 */
static uint32_t steal(wp_carrier *carrier, wp_carrier *victim, wp_mpsc_node **task)
{
	wp_local_queue_carrier *own = carrier->bounded;
	uint32_t many = 0;

	if (own != NULL)
		many = wp_local_queue_steal(&victim->bounded->local, &own->local, task);
	if (many == 0)
		*task = wp_carrier_steal(victim);
	else
		wp__counted(wp__count_many(&own->looted, many - 1));
	return many;
}

wp_mpsc_node *wp__local_queue_carrier_steal(wp_carrier *carrier, uint32_t victim)
{
	wp_mpsc_node *task = NULL;

	steal(carrier, carrier->domain->carriers[victim], &task);
	return task;
}

wp_mpsc_node *wp__local_queue_carrier_steal_more(wp_carrier *carrier, uint32_t victim)
{
	wp_mpsc_node *task = NULL;

	if (steal(carrier, carrier->domain->carriers[victim], &task) > 1)
		wp_carrier_get_help(carrier);
	return task;
}

wp_mpsc_node *wp__carrier_take_left(wp_carrier *carrier)
{
	wp_mpsc_node *task = wp_private_fifo_pop(&carrier->private_fifo);

	if (task == NULL) {
		task = carrier->next;
		carrier->next = NULL;
	}
	/* A thread that pushes to a blocked carrier also takes from its queue, with the ticket. */
	if (task == NULL)
		task = carrier->is_placed ? wp_carrier_steal(carrier)
					  : wp_mpsc_pop(&carrier->queue);
	if (task == NULL)
		task = wp_mpsc_pop(&carrier->inbox);
	if (task == NULL && carrier->bounded != NULL)
		task = wp_local_queue_pop(&carrier->bounded->local);
	return task;
}
