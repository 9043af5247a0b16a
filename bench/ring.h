/* SPDX-License-Identifier: Apache-2.0
 * ring.h - the limit of row 1: a FIFO of task pointers that one thread has to itself, as an
 * engineer would write it.
 *
 * A power of two of slots and free-running indices. A push into a full ring is refused (its owner
 * would grow it). There are no atomics, no sharing and no stealing: this is the cost of a run queue
 * that promises nothing to other threads. */
#ifndef WP_BENCH_RING_H
#define WP_BENCH_RING_H

#include <stdbool.h>

#include "task.h"

enum { RING_SLOTS = 1024 };

typedef struct private_ring {
	uint32_t head, tail;
	bench_task *slots[RING_SLOTS];
} private_ring;

static inline bool ring_push(private_ring *ring, bench_task *task)
{
	if (ring->tail - ring->head == RING_SLOTS)
		return false;
	ring->slots[ring->tail % RING_SLOTS] = task;
	ring->tail++;
	return true;
}

static inline bench_task *ring_pop(private_ring *ring)
{
	bench_task *task;

	if (ring->head == ring->tail)
		return NULL;
	task = ring->slots[ring->head % RING_SLOTS];
	ring->head++;
	return task;
}

#endif
