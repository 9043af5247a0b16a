/* SPDX-License-Identifier: Apache-2.0
 * sim_placement.c - how evenly choices spread tasks, and how long tasks wait, with carriers, tasks
 * and time as data, so that the numbers are the same on every machine.
 *
 * The choices and the loads are the kernel's own code. A carrier runs its tasks in order, and there
 * is no stealing. Tasks are unequal (policies.h), and no policy knows their lengths. Rounds are
 * seeds.
 *
 *   placement_steady_N   tasks come from outside, one by one, in random gaps: N carriers are busy
 *                        for 80 % of the time
 *   placement_burst_N    32 tasks for each of N carriers, submitted by one of them, 12 ns apart;
 *                        when all have ended, the burst of the next carrier comes
 *
 *   one    a single queue for all carriers: no task waits while a carrier is idle
 *   zero   all to carrier 0: the worst possible choice */
#include "policies.h"

enum { ONE_QUEUE = -2, ALL_TO_ZERO = -1 }; /* besides the policies */
enum { TURN_PS = 100000, UNIT_PS = 1000000, GAP_PS = 12000, BUSY_PERCENT = 80, BURST = 32 };

typedef struct job {
	uint64_t submitted_ps, begins_ps, ends_ps;
	struct job *next; /* of its carrier */
} job;

typedef struct queue {
	job *to_begin, *to_end, *last; /* NULL: none */
	uint64_t free_ps;
	uint32_t length; /* including the job that runs */
} queue;

static wp_placement placement;
static wp_placement_slot slots[SPREAD_CARRIERS];
static queue queues[SPREAD_CARRIERS];
static job jobs[SPREAD_TASKS];
static double work[SPREAD_CARRIERS];
static uint64_t now_ps, costs, choices;
static double longest, queued;

static void prepare(uint32_t carriers, int policy, bool at_dequeue)
{
	policy_init(&placement, slots, carriers, policy, at_dequeue);
	for (uint32_t index = 0; index < carriers; index++) {
		queues[index] = (queue){0};
		work[index] = 0;
	}
	now_ps = 0;
	costs = (uint64_t)bench_round * 2654435761u + 88172645463325252u;
	choices = costs * 6364136223846793005u | 1;
	longest = queued = 0;
}

/* Simulates this carrier up to now. */
static void settle(uint32_t index)
{
	queue *here = &queues[index];

	for (; here->to_begin != NULL && here->to_begin->begins_ps <= now_ps;
	     here->to_begin = here->to_begin->next)
		wp_placement_begins(&placement, index);
	for (; here->to_end != NULL && here->to_end->ends_ps <= now_ps;
	     here->to_end = here->to_end->next, here->length--)
		wp_placement_ends(&placement, index);
}

static void settle_all(void)
{
	uint32_t most = 0;

	for (uint32_t index = 0; index < placement.count; index++) {
		settle(index);
		most = queues[index].length > most ? queues[index].length : most;
		queued += queues[index].length;
	}
	longest += most;
}

/* With one queue for all, the carrier that is free first takes the waiting task. */
static uint32_t first_free(void)
{
	uint32_t first = 0;

	for (uint32_t index = 1; index < placement.count; index++)
		if (queues[index].free_ps < queues[first].free_ps)
			first = index;
	return first;
}

static uint32_t choose(int policy, uint32_t home)
{
	if (policy == ONE_QUEUE)
		return first_free();
	return policy == ALL_TO_ZERO ? 0 : wp_placement_choose(&placement, home, &choices);
}

static void submit(job *one, uint32_t index)
{
	queue *there = &queues[index];
	uint64_t free_ps = there->free_ps > now_ps ? there->free_ps : now_ps;
	uint32_t units = spread_units(&costs);

	*one = (job){.submitted_ps = now_ps, .begins_ps = free_ps + TURN_PS};
	one->ends_ps = there->free_ps = one->begins_ps + units * (uint64_t)UNIT_PS;
	work[index] += units;
	if (there->last != NULL)
		there->last->next = one;
	there->last = one;
	if (there->to_begin == NULL)
		there->to_begin = one;
	if (there->to_end == NULL)
		there->to_end = one;
	there->length++;
	wp_placement_submitted(&placement, index);
}

static double p99_ns(uint32_t tasks)
{
	static double waits[SPREAD_TASKS];

	for (uint32_t k = 0; k < tasks; k++)
		waits[k] = (double)(jobs[k].begins_ps - jobs[k].submitted_ps) / 1e3;
	spread_found.queue = queued > 0 ? longest * placement.count / queued : 1;
	return spread_waits(waits, tasks);
}

static double steady(uint32_t carriers, int policy, bool at_dequeue)
{
	uint64_t gap_ps = (uint64_t)UNIT_PS * SPREAD_UNITS * 100 / BUSY_PERCENT / carriers;

	prepare(carriers, policy, at_dequeue);
	for (uint32_t k = 0; k < SPREAD_TASKS; k++) {
		settle_all();
		submit(&jobs[k], choose(policy, k % carriers));
		now_ps += spread_random(&costs) % (2 * gap_ps + 1);
	}
	spread_found.work = spread_of(work, carriers);
	return p99_ns(SPREAD_TASKS);
}

/* Ends all remaining work. */
static void end_all(void)
{
	for (uint32_t index = 0; index < placement.count; index++)
		now_ps = queues[index].free_ps > now_ps ? queues[index].free_ps : now_ps;
	for (uint32_t index = 0; index < placement.count; index++) {
		settle(index);
		work[index] = 0;
	}
}

static double burst(uint32_t carriers, int policy, bool at_dequeue)
{
	uint32_t each = carriers * BURST, bursts = SPREAD_TASKS / each;
	double spreads = 0;

	prepare(carriers, policy, at_dequeue);
	for (uint32_t k = 0; k < bursts; k++) {
		for (uint32_t task = 0; task < each; task++, now_ps += GAP_PS) {
			settle_all();
			submit(&jobs[k * each + task], choose(policy, k % carriers));
		}
		spreads += spread_of(work, carriers);
		end_all();
	}
	spread_found.work = spreads / bursts;
	return p99_ns(bursts * each);
}

/* Keeps the latest result, so that the same simulation does not run twice. */
static double simulate(double (*kind)(uint32_t, int, bool), uint32_t carriers, int policy,
		       bool at_dequeue)
{
	static uint32_t last_carriers;
	static int last_policy, last_round;
	static bool last_at_dequeue;
	static double late_ns;

	if (carriers != last_carriers || policy != last_policy || at_dequeue != last_at_dequeue ||
	    bench_round != last_round)
		late_ns = kind(carriers, policy, at_dequeue);
	last_carriers = carriers;
	last_policy = policy;
	last_at_dequeue = at_dequeue;
	last_round = bench_round;
	return late_ns;
}

#define ROW(kind, carriers)                                                        \
	static double kind##_##carriers(int policy, bool at_dequeue, uint64_t ops) \
	{                                                                          \
		return simulate(kind, carriers, policy, at_dequeue) * (double)ops; \
	}
#define SIDES(kind, carriers)                                       \
	{                                                           \
		.name = "placement_" #kind "_" #carriers,           \
		.of_policy = kind##_##carriers,                     \
		.both_loads = true,                                 \
		.own = {{"one", ONE_QUEUE}, {"zero", ALL_TO_ZERO}}, \
		.counts = SPREAD_COUNTS,                            \
	}

ROW(steady, 2)
ROW(steady, 16)
ROW(steady, 64)
ROW(steady, 256)
ROW(burst, 16)
ROW(burst, 64)

const bench_row bench_sim_placement[] = {
	SIDES(steady, 2), SIDES(steady, 16), SIDES(steady, 64), SIDES(steady, 256),
	SIDES(burst, 16), SIDES(burst, 64),  {.name = NULL},
};
