/* SPDX-License-Identifier: Apache-2.0
 * sim.h - simulates any number of carriers as data, by one thread.
 *
 * The calls are the kernel's own; time and sleep are simulated. The turn of a carrier is one step:
 * its calls of the kernel happen at once, and then its clock advances by the time that the turn
 * would take. A futex wake (calls.h) ends the sleep of its carrier a while later. */
#ifndef WP_BENCH_SIM_H
#define WP_BENCH_SIM_H

#include "bench.h"

enum { SIM_CARRIERS = 256, SIM_TASKS = 4096 };

/* Nanoseconds, as measured: one-way wake of a thread asleep for 50 us; the cost for its waker; a
 * turn that finds no task. */
enum { SIM_WAKE_NS = 5330, SIM_WAKER_NS = 2000, SIM_TURN_NS = 100 };

typedef struct sim_load {
	uint32_t carriers;
	uint32_t targets; /* this many carriers get all tasks, in turn */
	uint32_t tasks;   /* all together */
	double task_ns;   /* on average: uniform between 0 and twice that */
	/* The same, between submissions from outside. 0: each target submits its share itself, and
	 * is then busy until everything else is done. */
	double gap_ns;
	uint32_t searchers; /* most at a time; 0: as many as the kernel lets */
} sim_load;

typedef struct sim_found {
	double helped_ns; /* until a task of each target has begun */
	double waited_ns; /* from submission to begin, on average */
	double late_ns;   /* the same; the 99th percentile */
	double parks, wakes;
	double useless; /* wakes after which the carrier found nothing to do */
	double lost;    /* tasks that never began */
} sim_found;

/* One run; the same seed gives the same tasks. A task that never begins fails the program, unless
 * may_lose is set; its wait then ends when the last other task has begun. */
typedef sim_found sim_run(const sim_load *load, uint64_t seed, bool may_lose);

/* The nanoseconds that `ops` parks of one carrier take, among so many carriers with empty
 * queues. */
typedef double sim_parks(uint32_t carriers, uint64_t ops);

/* Writes to a word that carriers share, in thousands a second: to the tokens and the idle set of the
 * domain, and to the word and the tail of the queue of the carrier that has most of them. */
typedef struct sim_writes {
	double tokens, idle, word, tail;
} sim_writes;

sim_writes sim_counted(const sim_load *load, uint64_t seed);

sim_run sim_ours, sim_shipped;
sim_parks parks_ours, parks_shipped;

#endif
