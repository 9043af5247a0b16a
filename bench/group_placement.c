/* SPDX-License-Identifier: Apache-2.0
 * group_placement.c - how evenly a group of two carriers spreads a burst, and how long its tasks
 * wait.
 *
 * A burst is 64 unequal tasks (policies.h; a unit is about a microsecond). A task of carrier 0
 * submits them one after the other, while another task keeps carrier 1 awake; both then end. The
 * next burst comes when all tasks have ended and have left the loads. A burst in which another
 * process took a carrier's CPU is repeated.
 *
 *   placement_group_off, _on   without work stealing, and with it
 *
 * A round is a fixed number of bursts, whatever `ops` is, with the same tasks for all sides. */
#include "carriers.h"
#include "base/futex.h"
#include "policies.h"

enum { BURST = 64, ALL = BURST + 2, BURSTS = 8, UNIT = 800, CARRIERS = 2, TRIES = 2 };

typedef struct job {
	_Alignas(WP_LINE) wp_task task;
	uint32_t units, ran_on;
	double submitted_ns, waited_ns;
	uint64_t longest, queued; /* of the queues, when the burst began */
} job;

static wp_group *group;
static job jobs[BURST];
static wp_task submitter, other;
static wp_atomic(uint32_t) ended, awake, submitted;

static void await_unloaded(void)
{
	for (uint32_t index = 0; index < CARRIERS; index++)
		while (wp_group_counts(group, index).load != 0)
			wp_yield();
}

static enum wp_step run(wp_task *task)
{
	job *self = (job *)(void *)task;

	self->waited_ns = bench_clock_ns() - self->submitted_ns;
	self->ran_on = (uint32_t)wp_group_running(group);
	self->longest = self->queued = 0;
	for (uint32_t index = 0; index < CARRIERS; index++) {
		uint64_t length = wp_group_counts(group, index).runnable;

		self->longest = length > self->longest ? length : self->longest;
		self->queued += length;
	}
	bench_work(self->units * UNIT);
	return WP_STEP_DONE;
}

static void await(wp_atomic(uint32_t) *said)
{
	unsigned spins = 0;

	while (wp_load_acquire(said) == 0)
		bench_spin(&spins);
}

static enum wp_step submit_all(wp_task *task)
{
	(void)task;
	await(&awake);
	for (uint32_t k = 0; k < BURST; k++) {
		jobs[k].submitted_ns = bench_clock_ns();
		if (wp_group_submit(group, &jobs[k].task) != WP_OK)
			bench_fail("a submission was refused");
	}
	wp_store_release(&submitted, 1);
	return WP_STEP_DONE;
}

static enum wp_step keep_awake(wp_task *task)
{
	(void)task;
	wp_store_release(&awake, 1);
	await(&submitted);
	return WP_STEP_DONE;
}

/* The waiting thread is woken only once, because it would take the CPU of a carrier. */
static void count_end(wp_task *task)
{
	(void)task;
	if (wp_fetch_add_acq_rel(&ended, 1) + 1 == ALL)
		wp_futex_wake(&ended, 1);
}

static void make(wp_task *task, enum wp_step (*step)(wp_task *task))
{
	wp_task_init(task, step, NULL);
	task->ended = count_end;
}

static void start_pinned(uint32_t index, wp_task *task, enum wp_step (*step)(wp_task *task))
{
	make(task, step);
	task->is_pinned = true;
	carriers_start(group, index, task);
}

static void run_burst(uint64_t costs)
{
	wp_init(&ended, 0);
	wp_init(&awake, 0);
	wp_init(&submitted, 0);
	for (uint32_t k = 0; k < BURST; k++) {
		make(&jobs[k].task, run);
		jobs[k].units = spread_units(&costs);
	}
	start_pinned(0, &submitter, submit_all);
	start_pinned(1, &other, keep_awake);
	carriers_await(&ended, ALL);
	await_unloaded();
}

/* How often another process took a CPU of the carriers, if no attempt was free of that. */
static long run_alone(uint64_t costs)
{
	long before = carriers_preemptions(group), times = 0;

	for (int k = 0; k < TRIES; k++) {
		long after;

		run_burst(costs);
		after = carriers_preemptions(group);
		times = after - before;
		if (times == 0)
			break;
		before = after;
	}
	return times;
}

/* The work of the carrier with the most, divided by the mean. */
static double spread_of_burst(void)
{
	double work[CARRIERS] = {0};

	for (uint32_t k = 0; k < BURST; k++)
		work[jobs[k].ran_on] += jobs[k].units;
	return spread_of(work, CARRIERS);
}

/* `ops` times the 99th percentile of the waits. */
static double bursts(bool stealing, int policy, bool at_dequeue, uint64_t ops)
{
	static double waits[BURSTS * BURST];
	uint64_t costs = (uint64_t)bench_round * 2654435761u + 88172645463325252u;
	uint64_t longest = 0, queued = 0;
	double spreads = 0;

	group = carriers_placed((enum wp_placement_policy)policy, at_dequeue, stealing);
	for (uint32_t k = 0; k < BURSTS; k++) {
		bench_disturb(run_alone(spread_random(&costs) | 1));
		spreads += spread_of_burst();
		for (uint32_t task = 0; task < BURST; task++) {
			waits[k * BURST + task] = jobs[task].waited_ns;
			longest += jobs[task].longest;
			queued += jobs[task].queued;
		}
	}
	spread_found.work = spreads / BURSTS;
	spread_found.queue = queued > 0 ? (double)longest * CARRIERS / (double)queued : 1;
	return spread_waits(waits, BURSTS * BURST) * (double)ops;
}

#define ROW(name, stealing)                                           \
	static double name(int policy, bool at_dequeue, uint64_t ops) \
	{                                                             \
		return bursts(stealing, policy, at_dequeue, ops);     \
	}

ROW(group_off, false)
ROW(group_on, true)

#define SIDES(of)                         \
	{                                 \
		.name = "placement_" #of, \
		.of_policy = of,          \
		.both_loads = true,       \
		.counts = SPREAD_COUNTS,  \
	}

const bench_row bench_placed[] = {SIDES(group_off), SIDES(group_on), {.name = NULL}};
