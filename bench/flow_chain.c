/* SPDX-License-Identifier: Apache-2.0
 * flow_chain.c - a limit of linked queues as a flow: one producer, and no locked instruction.
 *
 * It is no queue. Two producers would lose tasks, and the consumer keeps the last task back until
 * the next one is linked, because nothing says whether the producer holds its link. What is left is what each linked queue does: the producer writes the link of the
 * task before, and the consumer learns from it where the next task is. */
#include <stdlib.h>

#include "base/order.h"
#include "bench.h"
#include "task.h"

typedef struct chain_node {
	wp_atomic(struct chain_node *) next;
} chain_node;

typedef struct chain {
	_Alignas(WP_LINE) chain_node *last;  /* of the producer */
	_Alignas(WP_LINE) chain_node *first; /* of the consumer */
	chain_node stub, end;
} chain;

static void *make(int producers)
{
	chain *made = producers == 1 ? aligned_alloc(WP_LINE, sizeof(*made)) : NULL;

	if (made != NULL) {
		wp_init(&made->stub.next, NULL);
		made->first = made->last = &made->stub;
	}
	return made;
}

static inline void link_last(chain *to, chain_node *node)
{
	wp_store_relaxed(&node->next, NULL);
	wp_store_release(&to->last->next, node);
	to->last = node;
}

static void produce(void *queue, int producer, bench_task **tasks, size_t count)
{
	chain *to = queue;

	(void)producer;
	for (size_t k = 0; k < count; k++)
		link_last(to, (chain_node *)(void *)tasks[k]);
	if (count == 0)
		link_last(to, &to->end);
}

/* Returns the oldest task, or NULL. */
static inline __attribute__((always_inline)) chain_node *pop(chain *from)
{
	chain_node *node = from->first, *next = wp_load_acquire(&node->next);

	if (next == NULL)
		return NULL;
	if (node == &from->stub) {
		node = next;
		next = wp_load_acquire(&node->next);
		if (next == NULL)
			return NULL;
	}
	from->first = next;
	return node;
}

static inline __attribute__((always_inline)) size_t take(void *queue, bench_task **tasks,
							 size_t most)
{
	size_t count = 0;

	for (; count < most; count++) {
		tasks[count] = (bench_task *)(void *)pop(queue);
		if (tasks[count] == NULL)
			break;
	}
	return count;
}

FLOW_CONSUMERS(consumers, take)

const flow_queue flow_chain = {make, free, produce, consumers};
