/* SPDX-License-Identifier: Apache-2.0
 * sides.h - the sides of rows that one thread runs: a ring, and the Vyukov queue. */
#ifndef WP_BENCH_SIDES_H
#define WP_BENCH_SIDES_H

#include "bench.h"
#include "ring.h"
#include "vyukov.h"

static private_ring a_ring;
static vyukov a_vyukov; /* to be initialised */

BENCH_INLINE void push_ring(bench_task *task)
{
	if (!ring_push(&a_ring, task))
		bench_fail("the private ring is full");
}

BENCH_INLINE bench_task *pop_ring(void)
{
	return ring_pop(&a_ring);
}

BENCH_INLINE void push_vyukov(bench_task *task)
{
	vyukov_push(&a_vyukov, (vyukov_node *)(void *)task);
}

BENCH_INLINE bench_task *pop_vyukov(void)
{
	return (bench_task *)(void *)vyukov_pop(&a_vyukov);
}

#endif
