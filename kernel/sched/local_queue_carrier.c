/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.c - see local_queue_carrier.h. */
#include "sched/local_queue_carrier.h"

void wp_global_init(wp_domain *domain, wp_global *global)
{
	wp_mpsc_init(&global->queue);
	wp_biased_lock_init(&global->ticket);
	domain->global = global;
}

void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded)
{
	wp_local_queue_init(&bounded->local);
	bounded->global = carrier->domain->global;
	bounded->pushed_next = false;
	wp_init(&bounded->spilled, 0);
	wp_init(&bounded->looted, 0);
	carrier->bounded = bounded;
}

bool wp__local_queue_carrier_push(wp_local_queue_carrier *bounded, wp_mpsc_node *task)
{
	uint32_t moved = wp_local_queue_push(&bounded->local, task, &bounded->global->queue);

	wp__counted(wp__count_many(&bounded->spilled, moved));
	return moved != 0;
}

bool wp__local_queue_carrier_is_alone(wp_carrier *carrier)
{
	wp_local_queue *local = &carrier->bounded->local;

	return wp_local_queue_stealable(local) == 1 && !wp__local_queue_has_next(local) &&
	       wp_mpsc_is_quiescent(&carrier->queue) && wp_mpsc_is_quiescent(&carrier->inbox);
}

static wp_mpsc_node *take_global(wp_carrier *carrier)
{
	wp_global *global = carrier->domain->global;

	return wp__carrier_take(carrier->domain, &global->queue, &global->ticket);
}

/* Its turn, or nothing else is there. [the owner | may wake somebody] */
static wp_mpsc_node *poll_global(wp_carrier *carrier)
{
	wp_mpsc_node *task = take_global(carrier);

	/* It may have been woken for what is its own, which waits now. */
	if (task != NULL && wp__carrier_has_some(carrier))
		wp_carrier_get_help(carrier);
	return task;
}

/* Others may have pushed something. [the owner | wait-free] */
static bool has_pushed(wp_carrier *carrier)
{
	return wp_mpsc_has_published(&carrier->queue) || wp_mpsc_has_published(&carrier->inbox);
}

wp_mpsc_node *wp__local_queue_carrier_poll(wp_carrier *carrier)
{
	wp_local_queue_carrier *bounded = carrier->bounded;
	bool pushed_first = bounded->pushed_next;
	wp_mpsc_node *task = NULL;

	if (wp__local_queue_has_next(&bounded->local))
		task = wp__local_queue_take_next(&bounded->local);
	if (task == NULL && wp_local_queue_is_global_turn(&bounded->local))
		task = poll_global(carrier);
	if (task != NULL)
		return task;
	bounded->pushed_next = !pushed_first;
	if (pushed_first && has_pushed(carrier))
		task = wp__carrier_poll_pushed(carrier);
	if (task == NULL)
		task = wp_local_queue_pop(&bounded->local);
	if (task == NULL && !pushed_first)
		task = wp__carrier_poll_pushed(carrier);
	return task != NULL ? task : poll_global(carrier);
}

wp_mpsc_node *wp__local_queue_carrier_next(wp_carrier *carrier)
{
	wp_local_queue *local = &carrier->bounded->local;

	return wp__local_queue_has_next(local) ? wp__local_queue_take_next(local) : NULL;
}

void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task)
{
	if (!wp_local_queue_keep(&carrier->bounded->local, task))
		wp_carrier_submit_internal(carrier, task);
}

/* How many it took. */
static uint32_t steal(wp_carrier *carrier, uint32_t victim, wp_mpsc_node **task)
{
	wp_domain *domain = carrier->domain;
	wp_local_queue_carrier *own = carrier->bounded;
	uint32_t many;

	if (victim == domain->count) {
		*task = take_global(carrier);
		return 1;
	}
	many = wp_local_queue_steal(&domain->carriers[victim]->bounded->local, &own->local, task);
	if (many == 0)
		*task = wp_carrier_steal(domain->carriers[victim]);
	else
		wp__counted(wp__count_many(&own->looted, many - 1));
	return many;
}

wp_mpsc_node *wp__local_queue_carrier_steal(wp_carrier *carrier, uint32_t victim)
{
	wp_mpsc_node *task = NULL;

	if (carrier->bounded == NULL)
		return wp_carrier_steal(carrier->domain->carriers[victim]);
	steal(carrier, victim, &task);
	return task;
}

wp_mpsc_node *wp__local_queue_carrier_steal_more(wp_carrier *carrier, uint32_t victim)
{
	wp_mpsc_node *task = NULL;

	if (carrier->bounded == NULL)
		return wp_carrier_steal(carrier->domain->carriers[victim]);
	if (steal(carrier, victim, &task) > 1)
		wp_carrier_get_help(carrier);
	return task;
}

uint32_t wp__local_queue_carrier_hand_over(wp_carrier *carrier, wp_mpsc *to)
{
	return carrier->bounded == NULL ? 0 : wp_local_queue_hand_over(&carrier->bounded->local, to);
}

wp_mpsc_node *wp__local_queue_carrier_left(wp_carrier *carrier)
{
	wp_mpsc_node *task;

	if (carrier->bounded == NULL)
		return NULL;
	task = wp_local_queue_pop(&carrier->bounded->local);
	return task != NULL ? task : take_global(carrier);
}
