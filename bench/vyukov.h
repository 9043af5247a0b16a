/* SPDX-License-Identifier: Apache-2.0
 * vyukov.h - the peer with the same contract: Vyukov's intrusive MPSC queue. Many producers, one
 * consumer, and a stub node that is pushed whenever the last node is taken. Written here after the
 * published algorithm. */
#ifndef WP_BENCH_VYUKOV_H
#define WP_BENCH_VYUKOV_H

#include <stddef.h>

#include "base/order.h"

typedef struct vyukov_node {
	wp_atomic(struct vyukov_node *) next;
} vyukov_node;

/* The ends of producers and consumer are on cache lines of their own, as in our queue. */
typedef struct vyukov {
	_Alignas(WP_LINE) wp_atomic(vyukov_node *) last;
	_Alignas(WP_LINE) vyukov_node *first; /* owned by the consumer */
	vyukov_node stub;
} vyukov;

static inline void vyukov_init(vyukov *queue)
{
	wp_init(&queue->stub.next, NULL);
	wp_init(&queue->last, &queue->stub);
	queue->first = &queue->stub;
}

static inline void vyukov_push(vyukov *queue, vyukov_node *node)
{
	vyukov_node *before;

	wp_store_relaxed(&node->next, NULL);
	before = wp_exchange_acq_rel(&queue->last, node);
	wp_store_release(&before->next, node);
}

static inline vyukov_node *vyukov_pop(vyukov *queue)
{
	vyukov_node *node = queue->first, *next = wp_load_acquire(&node->next);

	if (node == &queue->stub) {
		if (next == NULL)
			return NULL;
		queue->first = node = next;
		next = wp_load_acquire(&node->next);
	}
	if (next == NULL) {
		if (wp_load_acquire(&queue->last) != node)
			return NULL;
		vyukov_push(queue, &queue->stub);
		next = wp_load_acquire(&node->next);
		if (next == NULL)
			return NULL;
	}
	queue->first = next;
	return node;
}

#endif
