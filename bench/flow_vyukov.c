/* SPDX-License-Identifier: Apache-2.0
 * flow_vyukov.c - the Vyukov queue as a flow. */
#include <stdlib.h>

#include "task.h"
#include "vyukov.h"

static void *make(int producers)
{
	vyukov *queue = aligned_alloc(WP_LINE, sizeof(*queue));

	(void)producers;
	if (queue != NULL)
		vyukov_init(queue);
	return queue;
}

static void produce(void *queue, int producer, bench_task **tasks, size_t count)
{
	(void)producer;
	for (size_t k = 0; k < count; k++)
		vyukov_push(queue, (vyukov_node *)(void *)tasks[k]);
}

static inline __attribute__((always_inline)) size_t take(void *queue, bench_task **tasks,
							 size_t most)
{
	size_t count = 0;

	for (; count < most; count++) {
		tasks[count] = (bench_task *)(void *)vyukov_pop(queue);
		if (tasks[count] == NULL)
			break;
	}
	return count;
}

FLOW_CONSUMERS(consumers, take)

const flow_queue flow_vyukov = {make, free, produce, consumers};
