/* SPDX-License-Identifier: Apache-2.0
 * one.c - row 1: push and pop by the one thread that uses the queue.
 *
 *   batch   push 64, then take 64 (the budget of one poll); each task counts its run: the row
 *           itself
 *   turn    64 tasks in the queue; take the oldest, run it, put it back: threads that yield
 *   ping    push one, take it: the queue gets empty each time, which is when the last node is taken
 *
 * push_pop_unlocked.c shows the queue
 * without its locked instruction. The time is the CPU time of this thread. */
#include "one.h"

#include "queue/mpsc.h"
#include "sides.h"

static wp_mpsc ours;

BENCH_INLINE void push_ours(bench_task *task)
{
	wp_mpsc_push(&ours, (wp_mpsc_node *)(void *)task);
}

BENCH_INLINE bench_task *pop_ours(void)
{
	return (bench_task *)(void *)wp_mpsc_pop(&ours);
}

/* Runs before main. The queues are used by one thread, and any side may come first. */
__attribute__((constructor)) static void prepare_queues(void)
{
	wp_mpsc_init(&ours);
	vyukov_init(&a_vyukov);
}

ONE_SIDES(ours)
ONE_SIDES(ring)
ONE_SIDES(marked)
ONE_SIDES(vyukov)

#define SIDES(pattern)                                                                   \
	{"ours", pattern##_ours}, {"ring", pattern##_ring}, {"floor", pattern##_marked}, \
	{                                                                                \
		"vyukov", pattern##_vyukov                                               \
	}

const bench_row bench_one[] = {
	{.name = "one_batch", .sides = {SIDES(batch), {"unlocked", batch_unlocked}}},
	{.name = "one_turn", .sides = {SIDES(turn), {"unlocked", turn_unlocked}}},
	{.name = "one_ping", .sides = {SIDES(ping)}},
	{.name = NULL},
};
