/* SPDX-License-Identifier: Apache-2.0
 * group.c - what carriers cost: a submission while they are awake, tasks from start to end, and an
 * unpark of everybody.
 *
 * Submissions by one thread, which is no carrier, so that no line travels; the queue is emptied off
 * the clock. Tasks on two carriers, a million in memory, so that each is out of the cache when its
 * turn comes; measured is the CPU time, halved: the carriers share nothing. A side that is a number
 * of nanoseconds is the goal itself. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "error.h"
#include "group.h"

enum { BATCH = 256, MILLION = 1 << 20, PARKED = 4096 };

static wp_task batch[BATCH];
static wp_home alone, homes[2];
static wp_carrier *members[2];
static wp_domain domain;

BENCH_INLINE double submissions(wp_home *home, void (*submit)(wp_home *, wp_task *), uint64_t ops)
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

BENCH_INLINE void fence_after(wp_home *home, wp_task *task)
{
	wp_mpsc_push(&home->carrier.queue, &task->node);
	wp_fence_seq_cst();
}

BENCH_INLINE void submit_one(wp_home *home, wp_task *task)
{
	wp_carrier_submit(&home->carrier, &task->node);
}

static double fenced(uint64_t ops)
{
	wp_home_init(&alone, NULL, 0, false);
	return submissions(&alone, fence_after, ops);
}

static double submit(uint64_t ops)
{
	wp_home_init(&alone, NULL, 0, false);
	return submissions(&alone, submit_one, ops);
}

static double stealing(uint64_t ops)
{
	wp_domain_init(&domain, members, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_home_init(&homes[index], &domain, index, false);
	return submissions(&homes[0], submit_one, ops);
}

static double of_12_ns(uint64_t ops)
{
	return 12 * (double)ops;
}

static wp_group *group;
static wp_task *million, *parked, roots[2];
static uint64_t first, share;
static wp_atomic(uint32_t) ended;
static wp_atomic(uint32_t) rounds; /* in which all parked tasks ran */

static void begin(void)
{
	wp_group_config config = {.carriers = 2, .yield_us = 50};

	wp_init(&ended, 0);
	if (group != NULL)
		return;
	million = aligned_alloc(WP_LINE, MILLION * sizeof(wp_task));
	parked = aligned_alloc(WP_LINE, PARKED * sizeof(wp_task));
	if (million == NULL || parked == NULL || wp_group_new(&group, &config) != WP_OK)
		bench_fail("no memory, or no threads");
}

/* Asleep: the carriers have the CPUs. */
static void await(wp_atomic(uint32_t) *count, uint32_t many)
{
	uint32_t seen;

	while ((seen = wp_load_acquire(count)) < many)
		wp_futex_wait(count, seen, WP_FOREVER);
}

static void count_end(wp_task *task)
{
	(void)task;
	wp_fetch_add_release(&ended, 1);
	wp_futex_wake(&ended, 1);
}

static enum wp_step end_at_once(wp_task *task)
{
	(void)task;
	return WP_STEP_DONE;
}

/* CPU time of the process: here of two carriers, whose wall clock others would share. */
static double process_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Starts its half, which runs when it has ended: in order, so the last one's end is that of all. */
static enum wp_step start_half(wp_task *task)
{
	uint32_t mine = task == &roots[1];

	for (uint64_t k = 0; k < share; k++) {
		wp_task *child = &million[(first + mine * share + k) % MILLION];

		wp_task_init(child, end_at_once, NULL);
		child->ended = k + 1 == share ? count_end : NULL;
		if (wp_group_start(group, mine, child) != WP_OK)
			bench_fail("a start was refused");
	}
	return WP_STEP_DONE;
}

static double start_and_end(uint64_t ops)
{
	double start;

	begin();
	share = (ops + 1) / 2;
	if (2 * share > MILLION)
		bench_fail("too many tasks at once");
	start = process_ns();
	for (uint32_t index = 0; index < 2; index++) {
		wp_task_init(&roots[index], start_half, NULL);
		wp_group_start(group, index, &roots[index]);
	}
	await(&ended, 2);
	first += 2 * share;
	return (process_ns() - start) / 2;
}

static enum wp_step count_and_park(wp_task *task)
{
	static uint32_t runs; /* of one carrier */

	(void)task;
	if (++runs % PARKED == 0) {
		wp_fetch_add_release(&rounds, 1);
		wp_futex_wake(&rounds, 1);
	}
	return WP_STEP_PARK;
}

/* Every parked task in turn, and again when all have run. CPU time of both sides. */
static double broadcast(uint64_t ops)
{
	static uint32_t round;
	uint64_t turns = (ops + PARKED - 1) / PARKED;
	double start;

	begin();
	for (uint32_t k = 0; round == 0 && k < PARKED; k++) {
		wp_task_init(&parked[k], count_and_park, NULL);
		wp_group_start(group, 1, &parked[k]);
	}
	round += round == 0;
	await(&rounds, round);
	start = process_ns();
	for (uint64_t turn = 0; turn < turns; turn++) {
		for (uint32_t k = 0; k < PARKED; k++)
			wp_task_unpark(&parked[k]);
		await(&rounds, ++round);
	}
	return (process_ns() - start) * (double)ops / (double)(turns * PARKED);
}

static double of_100_ns(uint64_t ops)
{
	return 100 * (double)ops;
}

static double of_150_ns(uint64_t ops)
{
	return 150 * (double)ops;
}

const bench_row bench_group[] = {
	{.name = "group_submit",
	 .sides = {{"alone", submit},
		   {"stealing", stealing},
		   {"fenced", fenced},
		   {"12ns", of_12_ns}}},
	{.name = "group_tasks", .sides = {{"ours", start_and_end}, {"100ns", of_100_ns}}},
	{.name = "group_unpark", .sides = {{"ours", broadcast}, {"150ns", of_150_ns}}},
	{.name = NULL},
};
