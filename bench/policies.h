/* SPDX-License-Identifier: Apache-2.0
 * policies.h - what the rows of placement share. They compare all policies of the kernel (of_policy in
 * bench.h); what a policy needs goes to policy_init. */
#ifndef WP_BENCH_POLICIES_H
#define WP_BENCH_POLICIES_H

#include "bench.h"
#include "sched/placement/placement.h"

/* Carriers as data, which have nothing; below 0, a policy of the bench's own: then home. */
void policy_init(wp_placement *placement, wp_placement_slot *slots, uint32_t carriers, int policy,
		 bool at_dequeue);

enum { SPREAD_CARRIERS = 256, SPREAD_TASKS = 16384, SPREAD_UNITS = 5 };

/* What a run has found. The first two go from 1 (even) to the number of carriers. */
typedef struct spread {
	double queue;   /* the longest queue, by the mean, both as seen by tasks that come */
	double work;    /* the most work of a carrier, by the mean */
	double half_us; /* the middle wait */
	double most_us; /* the longest wait */
} spread;

/* Of the run just made. */
extern spread spread_found;

/* 1 unit, or 2 (half as often), 4, .. 256: each power has as much of the work. SPREAD_UNITS on
 * average, about. *random: xorshift64, not 0. */
uint64_t spread_random(uint64_t *random);
uint32_t spread_units(uint64_t *random);

/* The waits of a run, which are sorted: the 99th percentile; two others go to spread_found. */
double spread_waits(double *ns, uint32_t many);

/* The most, by the mean. */
double spread_of(const double *values, uint32_t many);

#define SPREAD_COUNTS                            \
	{                                        \
		{"queue", &spread_found.queue},  \
		{"work", &spread_found.work},    \
		{"p50", &spread_found.half_us},  \
		{"most", &spread_found.most_us}, \
	}

#endif
