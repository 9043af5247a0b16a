/* SPDX-License-Identifier: Apache-2.0
 * push_pop_unlocked.c - row 1 without the locked instruction: our queue, with a push that reserves
 * by a load and a store (mpsc.2).
 *
 * It is compiled with twin mpsc_split_reserve, so with two producers it loses tasks. With one
 * thread it shows the cost of the locked instruction, because nothing else differs. */
#include "one.h"

#include "queue/mpsc.h"

static wp_mpsc unlocked;

__attribute__((constructor)) static void prepare_queue(void)
{
	wp_mpsc_init(&unlocked);
}

BENCH_INLINE void push_unlocked(bench_task *task)
{
	wp_mpsc_push(&unlocked, (wp_mpsc_node *)(void *)task);
}

BENCH_INLINE bench_task *pop_unlocked(void)
{
	return (bench_task *)(void *)wp_mpsc_pop(&unlocked);
}

double batch_unlocked(uint64_t ops)
{
	return batches(push_unlocked, pop_unlocked, DEPTH, ops);
}

double turn_unlocked(uint64_t ops)
{
	return turns(push_unlocked, pop_unlocked, ops);
}
