/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the cost of a deadline: armed and cancelled among many that are armed, or fired and
 * armed again.
 *
 * Deadlines are drawn in advance, within an hour. The floor is what two operations cannot do
 * without: to acquire their lock and to release it. */
#include <stdlib.h>

#include "bench.h"
#include "carriers.h"
#include "sched/timer.h"

enum { DRAWN = 1 << 16, THOUSAND = 1000, MILLION = 1000000 };

#define HOUR_NS INT64_C(3600000000000)

static wp_timers timers;
static wp_timer one, *others, *first; /* first: the timer that fired last */
static int64_t drawn[DRAWN];
static uint64_t fired;

static wp_task *due(wp_timer *timer)
{
	fired++;
	first = timer;
	return NULL;
}

/* Arms this many timers, and no others. */
static void fill(uint64_t count)
{
	static uint64_t filled;
	static uint64_t random = 1;

	if (filled == count)
		return;
	if (filled != 0)
		bench_fail("a row has one number of timers");
	wp_timers_init(&timers);
	wp_timer_init(&one, due);
	for (int k = 0; k < DRAWN; k++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		drawn[k] = (int64_t)(random >> 16) % HOUR_NS;
	}
	others = calloc(count, sizeof(*others));
	if (others == NULL)
		bench_fail("no memory");
	for (; filled < count; filled++) {
		wp_timer_init(&others[filled], due);
		wp_timer_arm(&timers, &others[filled], drawn[filled % DRAWN] + (int64_t)filled);
	}
}

static double arm_and_cancel(uint64_t count, uint64_t ops)
{
	double start;

	fill(count);
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		wp_timer_arm(&timers, &one, drawn[k % DRAWN]);
		if (!wp_timer_cancel(&one))
			bench_fail("a timer has fired");
	}
	return bench_cpu_ns() - start;
}

/* The first timer fires, and is armed again for up to an hour later. */
static void fire_and_arm(uint64_t ops)
{
	for (uint64_t k = 0; k < ops; k++) {
		int64_t now_ns = wp_timers_earliest(&timers);

		wp_timers_due(&timers, now_ns);
		wp_timer_arm(&timers, first, now_ns + drawn[k % DRAWN]);
	}
}

static double fire_among(uint64_t count, uint64_t ops)
{
	static bool is_warm;
	uint64_t before;
	double start;

	fill(count);
	if (!is_warm)
		fire_and_arm(count);
	is_warm = true;
	before = fired;
	start = bench_cpu_ns();
	fire_and_arm(ops);
	if (fired - before < ops)
		bench_fail("a timer has not fired");
	return bench_cpu_ns() - start;
}

static double locks(uint64_t ops)
{
	static wp_lock lock;
	double start = bench_cpu_ns();

	for (uint64_t k = 0; k < 2 * ops; k++) {
		wp_lock_acquire(&lock);
		wp_lock_release(&lock);
	}
	return bench_cpu_ns() - start;
}

BENCH_SIDE(among_one, arm_and_cancel(1, ops))
BENCH_SIDE(among_thousand, arm_and_cancel(THOUSAND, ops))

double bench_timers(uint64_t ops)
{
	return arm_and_cancel(MILLION, ops);
}

BENCH_SIDE(fire_among_thousand, fire_among(THOUSAND, ops))
BENCH_SIDE(fire_among_million, fire_among(MILLION, ops))

const bench_row bench_timer[] = {
	{.name = "timer_1", .sides = {{"ours", among_one}, {"locks", locks}}},
	{.name = "timer_1k", .sides = {{"ours", among_thousand}, {"locks", locks}}},
	{.name = "timer_1m", .sides = {{"ours", bench_timers}, {"locks", locks}}},
	{.name = "timer_fire_1k", .sides = {{"ours", fire_among_thousand}, {"locks", locks}}},
	{.name = "timer_fire_1m", .sides = {{"ours", fire_among_million}, {"locks", locks}}},
	{.name = NULL},
};
