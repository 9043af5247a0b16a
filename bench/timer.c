/* SPDX-License-Identifier: Apache-2.0
 * timer.c - what a deadline costs: armed and cancelled among so many that are armed, or fired and
 * armed again.
 *
 * Deadlines are drawn in advance, an hour wide. The floor is what both operations cannot do
 * without: to take their lock and to give it back, twice. A heap that was filled and never fired
 * from is all in one row; the first that fires pays for that, off the clock. */
#include <stdlib.h>

#include "bench.h"
#include "carriers.h"
#include "timer.h"

enum { DRAWN = 1 << 16, THOUSAND = 1000, MILLION = 1000000 };

#define HOUR_NS INT64_C(3600000000000)

static wp_timers timers;
static wp_timer one, *others;
static int64_t drawn[DRAWN];
static uint64_t fired;

static wp_task *due(wp_timer *timer)
{
	fired++;
	wp_timer_init(timer, due);
	return NULL;
}

/* So many are armed, and nothing else. */
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

/* The first fires, and another is armed that is up to an hour later. */
static double fire_and_arm(uint64_t count, uint64_t ops)
{
	static bool is_warm;
	uint64_t before = fired;
	double start;

	fill(count);
	for (uint64_t k = 0; k < (is_warm ? 0 : count); k++) {
		wp_timer *first = timers.root;
		int64_t now_ns = first->deadline_ns;

		if (!wp_timer_cancel(first))
			bench_fail("the first is not armed");
		wp_timer_arm(&timers, first, now_ns + drawn[k % DRAWN]);
	}
	is_warm = true;
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		wp_timer *first = timers.root;
		int64_t now_ns = first->deadline_ns;

		wp_timers_due(&timers, now_ns);
		wp_timer_arm(&timers, first, now_ns + drawn[k % DRAWN]);
	}
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

static double among_one(uint64_t ops)
{
	return arm_and_cancel(1, ops);
}

static double among_thousand(uint64_t ops)
{
	return arm_and_cancel(THOUSAND, ops);
}

double bench_timers(uint64_t ops)
{
	return arm_and_cancel(MILLION, ops);
}

static double fire_among_thousand(uint64_t ops)
{
	return fire_and_arm(THOUSAND, ops);
}

static double fire_among_million(uint64_t ops)
{
	return fire_and_arm(MILLION, ops);
}

const bench_row bench_timer[] = {
	{.name = "timer_1", .sides = {{"ours", among_one}, {"locks", locks}}},
	{.name = "timer_1k", .sides = {{"ours", among_thousand}, {"locks", locks}}},
	{.name = "timer_1m", .sides = {{"ours", bench_timers}, {"locks", locks}}},
	{.name = "timer_fire_1k", .sides = {{"ours", fire_among_thousand}, {"locks", locks}}},
	{.name = "timer_fire_1m", .sides = {{"ours", fire_among_million}, {"locks", locks}}},
	{.name = NULL},
};
