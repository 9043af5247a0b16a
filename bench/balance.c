/* SPDX-License-Identifier: Apache-2.0
 * balance.c - the cost of stealing where both carriers have the same work, and its gain where one
 * of them has all of it.
 *
 * balanced: 32 tasks on each carrier, which yield equally often, each time after half a microsecond
 * of work. `locked` is without stealing, and each task does one locked instruction a turn: the least
 * that a queue costs which another carrier may take from.
 * hot_carrier: bursts of 256 tasks of about 10 us each, submitted from outside, all to carrier 0.
 * The measure is the time from the start of a task to its end: its 99th percentile in each burst,
 * and of the bursts the median. */
#include "carriers.h"

enum { EACH = 32, BURST = 256, BURSTS = 33, SHORT_WORK = 400, LONG_WORK = 8000 };

typedef struct job {
	_Alignas(WP_LINE) wp_task task;
	uint64_t steps;
	wp_atomic(uint32_t) word; /* for the locked instruction */
	double started_ns, latency_ns;
} job;

static job jobs[2 * EACH], burst[BURST];
static double stolen_percent;

static enum wp_step work_and_yield(wp_task *task)
{
	job *self = (job *)(void *)task;

	bench_work(SHORT_WORK);
	return --self->steps == 0 ? WP_STEP_DONE : WP_STEP_YIELD;
}

static enum wp_step lock_and_yield(wp_task *task)
{
	wp_exchange_acq_rel(&((job *)(void *)task)->word, 1);
	return work_and_yield(task);
}

/* Counts the steps of both carriers since the last call, and the stolen ones among them. */
static void count_stolen(wp_group *group)
{
	static uint64_t runs_before[2], thefts_before[2];
	uint64_t runs = 0, thefts = 0;
	int which = group == carriers_of_two(true);

	for (uint32_t index = 0; index < 2; index++) {
		wp_carrier_counts counts = wp_group_counts(group, index);

		runs += counts.runs;
		thefts += counts.directed + counts.probed + counts.recheck;
	}
	stolen_percent =
		100 * (double)(thefts - thefts_before[which]) / (double)(runs - runs_before[which]);
	runs_before[which] = runs;
	thefts_before[which] = thefts;
}

static double balanced(bool stealing, enum wp_step (*step)(wp_task *), uint64_t ops)
{
	wp_group *group = carriers_of_two(stealing);
	uint64_t steps = (ops + 2 * EACH - 1) / (2 * EACH);
	long before = carriers_preemptions(group);
	double start, ns;

	count_stolen(group);
	wp_init(&carriers_ended, 0);
	start = bench_clock_ns();
	for (uint32_t k = 0; k < 2 * EACH; k++) {
		jobs[k].steps = steps;
		wp_init(&jobs[k].word, 0);
		wp_task_init(&jobs[k].task, step, NULL);
		jobs[k].task.ended = carriers_count_end;
		carriers_start(group, k % 2, &jobs[k].task);
	}
	carriers_await(&carriers_ended, 2 * EACH);
	ns = bench_clock_ns() - start;
	count_stolen(group);
	bench_disturb(carriers_preemptions(group) - before);
	return ns * (double)ops / (double)(steps * 2 * EACH);
}

static enum wp_step work_long(wp_task *task)
{
	job *self = (job *)(void *)task;

	bench_work(LONG_WORK);
	self->latency_ns = bench_clock_ns() - self->started_ns;
	return WP_STEP_DONE;
}

static double burst_p99(wp_group *group)
{
	double latencies[BURST];

	wp_init(&carriers_ended, 0);
	for (uint32_t k = 0; k < BURST; k++) {
		burst[k].started_ns = bench_clock_ns();
		wp_task_init(&burst[k].task, work_long, NULL);
		burst[k].task.ended = carriers_count_end;
		carriers_start(group, 0, &burst[k].task);
	}
	carriers_await(&carriers_ended, BURST);
	for (uint32_t k = 0; k < BURST; k++)
		latencies[k] = burst[k].latency_ns;
	return bench_p99(latencies, BURST);
}

/* `ops` tasks, or the tasks of BURSTS bursts if these are fewer. */
static double hot(bool stealing, uint64_t ops)
{
	double p99s[BURSTS];
	wp_group *group = carriers_of_two(stealing);
	uint64_t bursts = ops / BURST < BURSTS ? ops / BURST + 1 : BURSTS;
	long before = carriers_preemptions(group);

	count_stolen(group);
	for (uint64_t k = 0; k < bursts; k++)
		p99s[k] = burst_p99(group);
	count_stolen(group);
	bench_disturb(carriers_preemptions(group) - before);
	bench_p99(p99s, bursts); /* sorts them */
	return p99s[bursts / 2] * (double)ops;
}

BENCH_SIDE(balanced_off, balanced(false, work_and_yield, ops))
BENCH_SIDE(balanced_on, balanced(true, work_and_yield, ops))
BENCH_SIDE(balanced_locked, balanced(false, lock_and_yield, ops))
BENCH_SIDE(hot_off, hot(false, ops))
BENCH_SIDE(hot_on, hot(true, ops))

const bench_row bench_balance[] = {
	{.name = "balanced",
	 .sides = {{"off", balanced_off}, {"on", balanced_on}, {"locked", balanced_locked}},
	 .counts = {{"stolen", &stolen_percent}}},
	{.name = "hot_carrier",
	 .sides = {{"off", hot_off}, {"on", hot_on}},
	 .counts = {{"stolen", &stolen_percent}}},
	{.name = NULL},
};
