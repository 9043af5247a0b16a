/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.c - see local_queue_carrier.h. */
#include "sched/local_queue_carrier.h"

void wp_local_queue_carrier_init(wp_carrier *carrier, wp_local_queue_carrier *bounded)
{
	wp_local_queue_init(&bounded->local);
	wp_init(&bounded->spilled, 0);
	wp_init(&bounded->looted, 0);
	carrier->bounded = bounded;
}

void wp__local_queue_carrier_push(wp_carrier *carrier, wp_mpsc_node *task)
{
	wp_local_queue_carrier *bounded = carrier->bounded;
	uint32_t moved = wp_local_queue_push(&bounded->local, task, &carrier->queue);

	wp__counted(wp__count_many(&bounded->spilled, moved));
	(void)moved;
}

void wp__local_queue_carrier_keep(wp_carrier *carrier, wp_mpsc_node *task)
{
	if (!wp_local_queue_keep(&carrier->bounded->local, task))
		wp_carrier_submit_internal(carrier, task);
}

void wp__local_queue_carrier_hand_over(wp_carrier *carrier)
{
	if (carrier->bounded != NULL)
		wp_local_queue_hand_over(&carrier->bounded->local, &carrier->queue);
}
