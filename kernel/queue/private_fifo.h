/* SPDX-License-Identifier: Apache-2.0
 * private_fifo.h - a FIFO of tasks that one thread pushes and pops: the queue of a carrier without
 * siblings for its own tasks.
 *
 * Why it works  No other thread reads the queue, so it needs no memory order and no locked
 *               instruction. Stealers look only at the run queue (mpsc.h). Therefore a carrier that
 *               others may steal from does not use a private FIFO.
 * Spec          specs/sched/Group.tla: NoTaskLost.
 * Evidence      make check-specs T=Group, make stress T=carrier_tasks. */
#ifndef WP_PRIVATE_FIFO_H
#define WP_PRIVATE_FIFO_H

#include "queue/mpsc.h"

/* 16 bytes. It belongs to one thread, and after the end of that thread to another one. A zeroed
 * FIFO is empty. */
typedef struct wp_private_fifo {
	wp_mpsc_node *first, *last;
} wp_private_fifo;

/* Returns true if the FIFO has no node. [its thread | wait-free] */
WP_INLINE bool wp_private_fifo_is_empty(const wp_private_fifo *fifo)
{
	return fifo->first == NULL;
}

/* Appends the node, which must be in no queue. [its thread | wait-free] */
WP_INLINE void wp_private_fifo_push(wp_private_fifo *fifo, wp_mpsc_node *node)
{
	if (fifo->first == NULL)
		fifo->first = node;
	else
		/* [private_fifo.1] relaxed: ordered by program order, because only one thread reads
		 * it; pairs private_fifo.2; upholds Group!NoTaskLost. */
		wp_store_relaxed(&fifo->last->next, node);
	fifo->last = node;
}

/* Takes the oldest node. Returns NULL if there is none. [its thread | wait-free] */
WP_INLINE wp_mpsc_node *wp_private_fifo_pop(wp_private_fifo *fifo)
{
	wp_mpsc_node *node = fifo->first;

	if (node == NULL)
		return NULL;
	/* [private_fifo.2] relaxed: ordered by program order; pairs private_fifo.1; upholds
	 * Group!NoTaskLost. */
	fifo->first = node == fifo->last ? NULL : wp_load_relaxed(&node->next);
	return node;
}

#endif
