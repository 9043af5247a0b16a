/* SPDX-License-Identifier: Apache-2.0
 * group.c - the cost of carriers: a submission while they are awake, tasks from start to end, and
 * an unpark of all tasks.
 *
 * Submissions come from one thread that is no carrier, so that no cache line travels; the queue is
 * emptied off the clock. Tasks run on two carriers, with a million in memory, so that each is out
 * of the cache when its turn comes. The measures are the clock, and half of the CPU time, because
 * the carriers share nothing. A side that is a number of nanoseconds is the goal itself. */
#include <stdlib.h>

#include "carriers.h"

enum { BATCH = 256, MILLION = 1 << 20, PARKED = 4096 };

static wp_task batch[BATCH];
static wp_carrier_tasks alone, homes[2];
static wp_carrier *members[2];
static wp_domain domain;

BENCH_INLINE double submissions(wp_carrier_tasks *home,
				void (*submit)(wp_carrier_tasks *, wp_task *), uint64_t ops)
{
	double ns = 0;

	for (uint64_t done = 0; done < ops; done += BATCH) {
		double start = bench_cpu_ns();

		for (int k = 0; k < BATCH; k++)
			submit(home, &batch[k]);
		ns += bench_cpu_ns() - start;
		for (int k = 0; k < BATCH; k++) {
			if (wp_mpsc_pop(&home->carrier.queue) == NULL)
				bench_fail("a submitted task is missing");
		}
	}
	return ns;
}

BENCH_INLINE void fence_after(wp_carrier_tasks *home, wp_task *task)
{
	wp_mpsc_push(&home->carrier.queue, &task->node);
	wp_fence_seq_cst();
}

BENCH_INLINE void submit_one(wp_carrier_tasks *home, wp_task *task)
{
	wp_carrier_submit(&home->carrier, &task->node);
}

static double fenced(uint64_t ops)
{
	wp_carrier_tasks_init(&alone, NULL, 0);
	return submissions(&alone, fence_after, ops);
}

static double submit(uint64_t ops)
{
	wp_carrier_tasks_init(&alone, NULL, 0);
	return submissions(&alone, submit_one, ops);
}

static double stealing(uint64_t ops)
{
	wp_domain_init(&domain, members, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&homes[index], &domain, index);
	return submissions(&homes[0], submit_one, ops);
}

static wp_group *group;
static wp_task *million, *parked, roots[2];
static uint64_t first, share;
static wp_atomic(uint32_t) rounds; /* in which all parked tasks have run */

static void begin(void)
{
	wp_init(&carriers_ended, 0);
	if (group != NULL)
		return;
	group = carriers_of_two(false);
	million = aligned_alloc(WP_LINE, MILLION * sizeof(wp_task));
	parked = aligned_alloc(WP_LINE, PARKED * sizeof(wp_task));
	if (million == NULL || parked == NULL)
		bench_fail("no memory");
}

static enum wp_step end_at_once(wp_task *task)
{
	(void)task;
	return WP_STEP_DONE;
}

/* Starts its half, which runs when this task has ended. The halves run in order, so the end of the
 * last task is the end of all. */
static enum wp_step start_half(wp_task *task)
{
	uint32_t mine = task == &roots[1];

	for (uint64_t k = 0; k < share; k++) {
		wp_task *child = &million[(first + mine * share + k) % MILLION];

		wp_task_init(child, end_at_once, NULL);
		child->ended = k + 1 == share ? carriers_count_end : NULL;
		carriers_start(group, mine, child);
	}
	return WP_STEP_DONE;
}

static double start_and_end(double (*now_ns)(void), uint64_t ops)
{
	uint64_t many = ops < MILLION ? ops + ops % 2 : MILLION;
	double start;

	begin();
	share = many / 2;
	start = now_ns();
	for (uint32_t index = 0; index < 2; index++) {
		wp_task_init(&roots[index], start_half, NULL);
		carriers_start(group, index, &roots[index]);
	}
	carriers_await(&carriers_ended, 2);
	first += many;
	return (now_ns() - start) * (double)ops / (double)many;
}

double bench_tasks(uint64_t ops)
{
	return start_and_end(carriers_process_ns, ops);
}

BENCH_SIDE(by_cpu_time, bench_tasks(ops) / 2)

static double by_clock(uint64_t ops)
{
	long before;
	double ns;

	begin();
	before = carriers_preemptions(group);
	ns = start_and_end(bench_clock_ns, ops);
	bench_disturb(carriers_preemptions(group) - before);
	return ns;
}

static enum wp_step count_and_park(wp_task *task)
{
	static uint32_t runs; /* of one carrier */

	(void)task;
	if (++runs % PARKED == 0)
		carriers_count(&rounds);
	return WP_STEP_PARK;
}

/* Unparks every task in turn, and again when all have run. CPU time of both sides. */
double bench_wake(uint64_t ops)
{
	static uint32_t round;
	uint64_t turns = (ops + PARKED - 1) / PARKED;
	double start;

	begin();
	for (uint32_t k = 0; round == 0 && k < PARKED; k++) {
		wp_task_init(&parked[k], count_and_park, NULL);
		carriers_start(group, 1, &parked[k]);
	}
	round += round == 0;
	carriers_await(&rounds, round);
	start = carriers_process_ns();
	for (uint64_t turn = 0; turn < turns; turn++) {
		for (uint32_t k = 0; k < PARKED; k++)
			wp_task_unpark(&parked[k]);
		carriers_await(&rounds, ++round);
	}
	return (carriers_process_ns() - start) * (double)ops / (double)(turns * PARKED);
}

const bench_row bench_group[] = {
	{.name = "group_submit",
	 .sides = {{"alone", submit},
		   {"stealing", stealing},
		   {"fenced", fenced},
		   {"12ns", .goal_ns = 12}}},
	{.name = "group_tasks",
	 .sides = {{"ours", by_cpu_time}, {"clock", by_clock}, {"100ns", .goal_ns = 100}}},
	{.name = "group_unpark", .sides = {{"ours", bench_wake}, {"150ns", .goal_ns = 150}}},
	{.name = NULL},
};
