/* SPDX-License-Identifier: Apache-2.0
 * recheck.c - the cost of looking at all siblings, and how many searchers pay, with
 * carriers as data (sim.h).
 *
 *   recheck_N  one of N carriers announces a sleep and retracts it; all queues are empty
 *   load_N     each of N carriers gets tasks from outside that keep it busy half of the time
 *   burst_N    a quarter of N carriers start three tasks each and stay busy; all others sleep
 *   hot_N      a quarter of N carriers get all tasks, twice as many as they can run
 *   words_N    the writes to the words that carriers share, under the loads of load_N and hot_N
 *
 * The times of the last four are simulated, and their rounds are seeds. */
#include "sim.h"

enum { TASK_NS = 20000, LOAD_TASKS = 2048 };

static double parked_ns[2]; /* by the twin, by ours: each, of the latest run */
static double per_sibling;  /* how much longer ours took than the twin before it */

static double parks_of(sim_parks *parks, bool is_ours, uint32_t carriers, uint64_t ops)
{
	double ns = parks(carriers, ops);

	parked_ns[is_ours] = ns / (double)ops;
	per_sibling = (parked_ns[1] - parked_ns[0]) / (carriers - 1);
	return ns;
}

/* Of the latest simulation. */
static double useless_each_park, useless_each_task, lost_percent;

/* The twin loses wakes, which is allowed here. */
static sim_found simulate(sim_run *run, sim_load load)
{
	sim_found found = run(&load, (uint64_t)bench_round, run == sim_shipped);

	useless_each_park = found.useless / found.parks;
	useless_each_task = found.useless / load.tasks;
	lost_percent = 100 * found.lost / load.tasks;
	return found;
}

static sim_load even(uint32_t carriers)
{
	return (sim_load){.carriers = carriers,
			  .targets = carriers,
			  .tasks = LOAD_TASKS,
			  .task_ns = TASK_NS,
			  .gap_ns = TASK_NS / (carriers * 0.5)};
}

static sim_load burst(uint32_t carriers, uint32_t searchers)
{
	return (sim_load){.carriers = carriers,
			  .targets = carriers / 4,
			  .tasks = carriers / 4 * 3,
			  .task_ns = TASK_NS,
			  .searchers = searchers};
}

static sim_load hot(uint32_t carriers, uint32_t searchers)
{
	return (sim_load){.carriers = carriers,
			  .targets = carriers / 4,
			  .tasks = LOAD_TASKS,
			  .task_ns = TASK_NS,
			  .gap_ns = TASK_NS / (carriers * 0.5),
			  .searchers = searchers};
}

#define RECHECK(n)                                                                          \
	BENCH_SIDE(recheck_shipped_##n, parks_of(parks_shipped, false, n, ops))             \
	BENCH_SIDE(recheck_ours_##n, parks_of(parks_ours, true, n, ops))                    \
	BENCH_SIDE(load_shipped_##n, simulate(sim_shipped, even(n)).waited_ns *(double)ops) \
	BENCH_SIDE(load_ours_##n, simulate(sim_ours, even(n)).waited_ns *(double)ops)
#define RECHECK_ROWS(n)                                                                        \
	{.name = "recheck_" #n,                                                                \
	 .sides = {{"shipped", recheck_shipped_##n}, {"ours", recheck_ours_##n}},              \
	 .counts = {{"sibling", &per_sibling}}},                                               \
	{                                                                                      \
		.name = "load_" #n,                                                            \
		.sides = {{"shipped", load_shipped_##n}, {"ours", load_ours_##n}}, .counts = { \
			{"useless", &useless_each_park}                                        \
		}                                                                              \
	}

#define SEARCHERS(many, run, n, searchers)                                                        \
	BENCH_SIDE(burst_##many##_##n, simulate(run, burst(n, searchers)).helped_ns *(double)ops) \
	BENCH_SIDE(hot_##many##_##n, simulate(run, hot(n, searchers)).late_ns *(double)ops)
#define SEARCHERS_ROW(what, n)                                                          \
	{                                                                               \
		.name = #what "_" #n,                                                   \
		.sides = {{"ours", what##_ours_##n},  {"one", what##_one_##n},          \
			  {"two", what##_two_##n},    {"quarter", what##_quarter_##n},  \
			  {"12us", .goal_ns = 12000}, {"shipped", what##_shipped_##n}}, \
		.counts = {                                                             \
			{"useless", &useless_each_task},                                \
			{"lost", &lost_percent}                                         \
		}                                                                       \
	}
#define SEARCHERS_ROWS(n) SEARCHERS_ROW(burst, n), SEARCHERS_ROW(hot, n)

static sim_writes written;

/* Returns the writes to the two words that a whole domain shares. */
static double writes(sim_load load)
{
	written = sim_counted(&load, (uint64_t)bench_round);
	return written.tokens + written.idle;
}

#define WORDS(n)                                                  \
	BENCH_SIDE(words_even_##n, writes(even(n)) * (double)ops) \
	BENCH_SIDE(words_hot_##n, writes(hot(n, 0)) * (double)ops)
#define WORDS_ROW(n)                                                                              \
	{                                                                                         \
		.name = "words_" #n, .sides = {{"even", words_even_##n}, {"hot", words_hot_##n}}, \
		.counts = {                                                                       \
			{"tokens", &written.tokens},                                              \
			{"idle", &written.idle},                                                  \
			{"word", &written.word},                                                  \
			{"tail", &written.tail}                                                   \
		}                                                                                 \
	}

WORDS(16)
WORDS(64)
WORDS(256)
RECHECK(2)
RECHECK(16)
RECHECK(64)
RECHECK(256)
SEARCHERS(ours, sim_ours, 16, 0)
SEARCHERS(one, sim_ours, 16, 1)
SEARCHERS(two, sim_ours, 16, 2)
SEARCHERS(quarter, sim_ours, 16, 4)
SEARCHERS(shipped, sim_shipped, 16, 1)
SEARCHERS(ours, sim_ours, 64, 0)
SEARCHERS(one, sim_ours, 64, 1)
SEARCHERS(two, sim_ours, 64, 2)
SEARCHERS(quarter, sim_ours, 64, 16)
SEARCHERS(shipped, sim_shipped, 64, 1)

const bench_row bench_recheck[] = {
	RECHECK_ROWS(2),    RECHECK_ROWS(16),   RECHECK_ROWS(64), RECHECK_ROWS(256),
	SEARCHERS_ROWS(16), SEARCHERS_ROWS(64), WORDS_ROW(16),    WORDS_ROW(64),
	WORDS_ROW(256),     {.name = NULL},
};
