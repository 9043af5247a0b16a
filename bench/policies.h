/* SPDX-License-Identifier: Apache-2.0
 * policies.h - what the rows of placement compare: one line here adds a policy to all of them, one
 * in python/wakeproof/bench/placement.py names it, and what it needs goes to policy_init. */
#ifndef WP_BENCH_POLICIES_H
#define WP_BENCH_POLICIES_H

#include "bench.h"
#include "sched/placement/placement.h"

/* Those that look at loads; all. `of`: what each of them is to do. */
#define POLICIES_OF_LOADS(each, of)           \
	each(of, two, WP_PLACE_TWO_CHOICES)   \
	each(of, least, WP_PLACE_LEAST_LOADED) \
	each(of, cluster, WP_PLACE_CLUSTER_TWO_CHOICES)
#define POLICIES(each, of)                    \
	each(of, home, WP_PLACE_HOME)         \
	POLICIES_OF_LOADS(each, of)

/* A side of each policy, by double of(int policy, bool at_dequeue, uint64_t ops); those that look
 * at loads also by the other form of them. */
#define POLICY_RUN(of, name, policy, at_dequeue)        \
	static double of##_##name(uint64_t ops)         \
	{                                               \
		return of(policy, at_dequeue, ops);     \
	}
#define POLICY_AT_END(of, name, policy) POLICY_RUN(of, name, policy, false)
#define POLICY_AT_DEQUEUE(of, name, policy) POLICY_RUN(of, name##_dequeue, policy, true)
#define POLICY_RUNS(of)               \
	POLICIES(POLICY_AT_END, of)   \
	POLICIES_OF_LOADS(POLICY_AT_DEQUEUE, of)

#define POLICY_SIDE(of, name, policy) {#name, of##_##name},
#define POLICY_SIDE_AT_DEQUEUE(of, name, policy) {#name "_dequeue", of##_##name##_dequeue},
#define POLICY_SIDES(of)              \
	POLICIES(POLICY_SIDE, of)     \
	POLICIES_OF_LOADS(POLICY_SIDE_AT_DEQUEUE, of)

/* Carriers as data, which have nothing; below 0, a policy of the bench's own: then home. */
void policy_init(wp_placement *placement, wp_placement_slot *slots, uint32_t carriers, int policy,
		 bool at_dequeue);

enum { SPREAD_CARRIERS = 256, SPREAD_TASKS = 16384, SPREAD_UNITS = 5 };

/* What a run has found. Each is told from 1 (even) to the number of carriers. */
typedef struct spread {
	double queue; /* the longest queue, by the mean, both as seen by tasks that come */
	double work;  /* the most work of a carrier, by the mean */
} spread;

/* Of the run just made. */
extern spread spread_found;

/* 1 unit, or 2 (half as often), 4, .. 256: each power has as much of the work. SPREAD_UNITS on
 * average, about. *random: xorshift64, not 0. */
uint64_t spread_random(uint64_t *random);
uint32_t spread_units(uint64_t *random);

/* The waits of a run, which are sorted: the 99th percentile; two others are kept for the counts. */
double spread_waits(double *ns, uint32_t many);

/* The most, by the mean. */
double spread_of(const double *values, uint32_t many);

double spread_queue(void);
double spread_work(void);
double spread_half_us(void); /* the middle wait */
double spread_most_us(void); /* the longest one */

#define SPREAD_COUNTS                                          \
	{                                                      \
		{"queue", spread_queue}, {"work", spread_work}, \
		{"p50", spread_half_us}, {"most", spread_most_us}, \
	}

#endif
