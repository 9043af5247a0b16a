/* SPDX-License-Identifier: Apache-2.0
 * flow_ours.h - our queue as a flow. It is included by files that differ in WP_LINE, and therefore
 * in the layout, or in the code after a push. */
#ifndef WP_BENCH_FLOW_OURS_H
#define WP_BENCH_FLOW_OURS_H

#include <stdlib.h>

#include "bench.h"
#include "wakeup/guard.h"
#include "queue/mpsc.h"
#include "task.h"

/* A queue and the guard of its consumer, which has a cache line to itself. */
typedef struct guarded {
	wp_mpsc queue;
	_Alignas(WP_LINE) wp_guard guard;
} guarded;

BENCH_INLINE void *guarded_make(enum wp_guard_fences fences)
{
	guarded *made = aligned_alloc(128, (sizeof(*made) + 127) / 128 * 128);

	if (made == NULL || wp_guard_init(&made->guard, fences) != 0)
		bench_fail("no memory, or no membarrier, for a guarded queue");
	wp_mpsc_init(&made->queue);
	return made;
}

/* `after` is the code of a producer between two pushes. */
BENCH_INLINE void guarded_produce(guarded *to, bench_task **tasks, size_t count,
				  void (*after)(guarded *))
{
	for (size_t k = 0; k < count; k++) {
		wp_mpsc_push(&to->queue, (wp_mpsc_node *)(void *)tasks[k]);
		after(to);
	}
}

static inline void *plain_make(int producers)
{
	(void)producers;
	return guarded_make(WP_GUARD_SYMMETRIC);
}

BENCH_INLINE size_t plain_take(void *queue, bench_task **tasks, size_t most)
{
	guarded *from = queue;
	size_t count = 0;

	for (; count < most; count++) {
		tasks[count] = (bench_task *)(void *)wp_mpsc_pop(&from->queue);
		if (tasks[count] == NULL)
			break;
	}
	return count;
}

BENCH_INLINE size_t many_take(void *queue, bench_task **tasks, size_t most)
{
	guarded *from = queue;

	return wp_mpsc_pop_many(&from->queue, (wp_mpsc_node **)(void *)tasks, most);
}

BENCH_INLINE void after_nothing(guarded *to)
{
	(void)to;
}

BENCH_INLINE void after_fence(guarded *to)
{
	(void)to;
	wp_fence_seq_cst();
}

BENCH_INLINE void after_signal(guarded *to)
{
	if (wp_guard_signal(&to->guard))
		bench_fail("the consumer is awake, and yet a wake-up is owed");
}

static inline void plain_produce(void *queue, int producer, bench_task **tasks, size_t count)
{
	(void)producer;
	guarded_produce(queue, tasks, count, after_nothing);
}

#endif
