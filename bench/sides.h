/* SPDX-License-Identifier: Apache-2.0
 * sides.h - the sides of rows that one thread runs: a ring, and the Vyukov queue.
 *
 * The ring with one exchange per push is the lower bound of every queue into which others may push
 * at the same moment, or from which they may take: either end needs one locked instruction (a
 * read-modify-write or a fence; Attiya et al., Laws of Order, POPL 2011). */
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

static private_ring a_marked_ring;
static wp_atomic(bench_task *) mark;

BENCH_INLINE void push_marked(bench_task *task)
{
	wp_exchange_acq_rel(&mark, task);
	if (!ring_push(&a_marked_ring, task))
		bench_fail("the private ring is full");
}

BENCH_INLINE bench_task *pop_marked(void)
{
	return ring_pop(&a_marked_ring);
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
