/* SPDX-License-Identifier: Apache-2.0
 * policies.h - shared by the rows of placement. They compare all policies of the kernel (of_policy
 * in bench.h); policy_init provides what a policy needs. */
#ifndef WP_BENCH_POLICIES_H
#define WP_BENCH_POLICIES_H

#include "bench.h"
#include "sched/placement/placement.h"

/* Prepares carriers as data, which have nothing. Below 0, a policy of the bench's own: the home
 * carrier. */
void policy_init(wp_placement *placement, wp_placement_slot *slots, uint32_t carriers, int policy,
		 bool at_dequeue);

enum { SPREAD_CARRIERS = 256, SPREAD_TASKS = 16384, SPREAD_UNITS = 5 };

/* The findings of a run. The first two range from 1 (even) to the number of carriers. */
typedef struct spread {
	double queue;   /* the longest queue divided by the mean, both as seen by arriving tasks */
	double work;    /* the most work of a carrier divided by the mean */
	double half_us; /* the median wait */
	double most_us; /* the longest wait */
} spread;

/* Of the latest run. */
extern spread spread_found;

/* 1 unit, or 2 (half as often), 4, .. 256: each power contributes the same amount of work. The mean
 * is about SPREAD_UNITS. *random: xorshift64, not 0. */
uint64_t spread_random(uint64_t *random);
uint32_t spread_units(uint64_t *random);

/* Sorts the waits of a run and returns the 99th percentile. Two others go to spread_found. */
double spread_waits(double *ns, uint32_t many);

/* The largest value, divided by the mean. */
double spread_of(const double *values, uint32_t many);

#define SPREAD_COUNTS                            \
	{                                        \
		{"queue", &spread_found.queue},  \
		{"work", &spread_found.work},    \
		{"p50", &spread_found.half_us},  \
		{"most", &spread_found.most_us}, \
	}

#endif
