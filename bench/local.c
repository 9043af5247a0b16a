/* SPDX-License-Identifier: Apache-2.0
 * local.c - the bounded run queue beside the one that groups have, MPSC and ticket, as a carrier
 * with possible thieves polls it.
 *
 *   batch, turn, ping   as in one.c: push and pop by the owner
 *   steal               128 tasks are pushed; a thief takes half and runs them: from its own ring,
 *                       or one by one under the ticket
 *   spill               256 are there and 128 more are pushed, so 128 go to the global queue, from
 *                       which all are taken: in one chain, or pushed there one by one
 *
 * All by one thread, so no cache line is in another's cache. Each side pushes and takes every
 * task. */
#include "queue/local_queue.h"
#include "queue/mpsc.h"
#include "one.h"
#include "sides.h"
#include "queue/biased_lock.h"

enum { HALF = WP_LOCAL_HALF, MOST = WP_LOCAL_CAPACITY + HALF };

static wp_local_queue local, thiefs;
static wp_mpsc queue, global;
static wp_biased_lock ticket;
static bench_task many[MOST];

BENCH_INLINE void push_local(bench_task *task)
{
	wp_local_queue_push(&local, (wp_mpsc_node *)(void *)task, &global);
}

BENCH_INLINE bench_task *pop_local(void)
{
	return (bench_task *)(void *)wp_local_queue_pop(&local);
}

BENCH_INLINE void push_mpsc(bench_task *task)
{
	wp_mpsc_push(&queue, (wp_mpsc_node *)(void *)task);
}

BENCH_INLINE bench_task *pop_locked(wp_mpsc *from)
{
	bench_task *task;
	uint64_t my;

	if (!wp_mpsc_has_published(from))
		return NULL;
	my = wp_biased_lock_acquire(&ticket);
	task = (bench_task *)(void *)wp_mpsc_pop(from);
	wp_biased_lock_release(&ticket, my);
	return task;
}

BENCH_INLINE bench_task *pop_mpsc(void)
{
	return pop_locked(&queue);
}

__attribute__((constructor)) static void prepare_queues(void)
{
	wp_local_queue_init(&local);
	wp_local_queue_init(&thiefs);
	wp_mpsc_init(&queue);
	wp_mpsc_init(&global);
	wp_biased_lock_init(&ticket);
	vyukov_init(&a_vyukov);
}

BENCH_INLINE void push_all(push_task *push, size_t tasks_count)
{
	for (size_t k = 0; k < tasks_count; k++) {
		push(&many[k]);
		bench_apart();
	}
}

BENCH_INLINE void run_all(pop_task *pop)
{
	bench_task *task;

	while ((task = pop()) != NULL) {
		task->runs++;
		bench_apart();
	}
}

static bench_task *pop_stolen(void)
{
	return (bench_task *)(void *)wp_local_queue_pop(&thiefs);
}

static double steal_local(uint64_t ops)
{
	double start = bench_cpu_ns();

	for (uint64_t done = 0; done < ops; done += HALF) {
		wp_mpsc_node *first = NULL;

		push_all(push_local, HALF);
		if (wp_local_queue_steal(&local, &thiefs, &first) != HALF / 2)
			bench_fail("a thief takes half");
		((bench_task *)(void *)first)->runs++;
		run_all(pop_stolen);
		run_all(pop_local);
	}
	return bench_cpu_ns() - start;
}

static double steal_mpsc(uint64_t ops)
{
	double start = bench_cpu_ns();

	for (uint64_t done = 0; done < ops; done += HALF) {
		push_all(push_mpsc, HALF);
		for (int k = 0; k < HALF / 2; k++) {
			uint64_t my;

			if (!wp_biased_lock_try_acquire(&ticket, &my))
				bench_fail("nobody else steals");
			((bench_task *)(void *)wp_mpsc_pop(&queue))->runs++;
			wp_biased_lock_release(&ticket, my);
		}
		run_all(pop_mpsc);
	}
	return bench_cpu_ns() - start;
}

static bench_task *pop_global(void)
{
	return pop_locked(&global);
}

static double spill_local(uint64_t ops)
{
	double start = bench_cpu_ns();

	for (uint64_t done = 0; done < ops; done += MOST) {
		push_all(push_local, MOST);
		run_all(pop_local);
		run_all(pop_global);
	}
	return bench_cpu_ns() - start;
}

static double spill_mpsc(uint64_t ops)
{
	double start = bench_cpu_ns();

	for (uint64_t done = 0; done < ops; done += MOST) {
		push_all(push_mpsc, MOST);
		run_all(pop_mpsc);
	}
	return bench_cpu_ns() - start;
}

ONE_SIDES(local)
ONE_SIDES(mpsc)
ONE_SIDES(ring)
ONE_SIDES(marked)
ONE_SIDES(vyukov)

#define SIDES(pattern)                                                                         \
	{                                                                                      \
		{"ours", pattern##_local}, {"mpsc", pattern##_mpsc}, {"ring", pattern##_ring}, \
			{"floor", pattern##_marked},                                           \
		{                                                                              \
			"vyukov", pattern##_vyukov                                             \
		}                                                                              \
	}

const bench_row bench_local[] = {
	{.name = "local_batch", .sides = SIDES(batch)},
	{.name = "local_turn", .sides = SIDES(turn)},
	{.name = "local_ping", .sides = SIDES(ping)},
	{.name = "local_steal", .sides = {{"ours", steal_local}, {"mpsc", steal_mpsc}}},
	{.name = "local_spill", .sides = {{"ours", spill_local}, {"mpsc", spill_mpsc}}},
	{.name = NULL},
};
