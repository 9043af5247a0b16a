/* SPDX-License-Identifier: Apache-2.0
 * sim.h - what carriers as data can do: as many as one likes, by one thread.
 *
 * The calls are the kernel's own; time and sleep are simulated. A carrier's turn is one step: what
 * it asks of the kernel happens at once, then its clock advances by what the turn would take. A
 * futex wake (calls.h) ends the sleep of its carrier a while later. */
#ifndef WP_BENCH_SIM_H
#define WP_BENCH_SIM_H

#include "bench.h"

enum { SIM_CARRIERS = 256, SIM_TASKS = 4096 };

/* Nanoseconds, as measured: one-way wake of a thread asleep for 50 us; what its waker pays;
 * a turn that finds no task. */
enum { SIM_WAKE_NS = 5330, SIM_WAKER_NS = 2000, SIM_TURN_NS = 100 };

typedef struct sim_load {
	uint32_t carriers;
	uint32_t targets;   /* so many carriers get all tasks, in turn */
	uint32_t tasks;     /* all together */
	double task_ns;     /* on average: between 0 and twice that */
	double gap_ns;      /* the same, between submissions from outside; 0: each target submits
			       its share itself and is busy then until all else is done */
	uint32_t searchers; /* the most at a time; for sim_many alone */
} sim_load;

typedef struct sim_found {
	double helped_ns; /* until a task of each target has begun */
	double waited_ns; /* from submission to begin, on average */
	double late_ns;   /* the same, of 99 in 100 tasks at the most */
	double parks, wakes;
	double useless; /* wakes after which the carrier found nothing to do */
	double lost;    /* tasks that never began */
} sim_found;

/* One run; the same seed gives the same tasks. A task that never began fails the program, unless
 * may_lose: then it has waited until the last other one began. */
typedef sim_found sim_run(const sim_load *load, uint64_t seed, bool may_lose);

/* Nanoseconds that `ops` parks take one carrier of so many, whose queues are all empty. */
typedef double sim_parks(uint32_t carriers, uint64_t ops);

sim_run sim_ours, sim_shipped, sim_many;
sim_parks parks_ours, parks_shipped;

#endif
