/* SPDX-License-Identifier: Apache-2.0
 * cluster.h - carriers of one domain, and tasks for them: a state that several scenarios start
 * from.
 *
 *   enum { CARRIERS = 2, TASKS = 2 };
 *   #include "cluster.h"
 *
 * Why it works  A carrier that runs no actor is in a long task. The carriers stand first, then
 *               lines of their own: wakeproof conform finds words by their place.
 * Spec          none. Evidence  tests/judge/conform/test_conform.py. */
#ifndef WP_CLUSTER_H
#define WP_CLUSTER_H

#include "sched/poller.h"

struct state {
	wp_carrier carriers[CARRIERS];
	wp_mpsc_node tasks[TASKS];
	_Alignas(WP_LINE) wp_domain domain;
	_Alignas(WP_LINE) wp_carrier *by_index[CARRIERS];
	_Alignas(WP_LINE) wp_poller poller; /* of carrier 0, where there is one */
	int event;                          /* its wakeup */
	wp_atomic(uint32_t) spawns, yields; /* that are left to tasks */
};

/* The domain has the first `count` carriers. */
WP_INLINE void cluster_init(struct state *state, uint32_t count)
{
	wp_domain_init(&state->domain, state->by_index, count);
	for (uint32_t index = 0; index < count; index++)
		wp_carrier_init(&state->carriers[index], &state->domain, index);
}

WP_INLINE void cluster_submit(struct state *state, uint32_t carrier, uint32_t task)
{
	wp_carrier_submit(&state->carriers[carrier], &state->tasks[task]);
}

#endif
