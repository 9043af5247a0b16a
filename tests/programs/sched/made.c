/* SPDX-License-Identifier: Apache-2.0
 * made.c CASE - the parts of a group: its clusters, and a ring of events for each carrier. */
#define _GNU_SOURCE
#include <unistd.h>

#include "sched/placement/group_placement.h"
#include "sched/trace.h"
#include "../vthreads_case.h"
#include "../case_main.h"

enum { CARRIERS = 4, EVENTS = 16, SWITCHES = 8 };

static void clusters_are(wp_group_config config, uint32_t many, const uint32_t *ends,
			 const uint32_t *members)
{
	const wp_placement *placement;

	open_as(config);
	placement = &group->placed->placement;
	check(placement->clusters == many, "the number of clusters");
	for (uint32_t one = 0; one < many && one < placement->clusters; one++)
		check(placement->ends[one] == ends[one], "the end of a cluster");
	for (uint32_t one = 0; one < ends[many - 1]; one++)
		check(placement->members[one] == members[one], "a member");
	close_group();
}

/* Carriers of a cluster stand together, in order; spare carriers are a cluster of their own,
 * behind. */
CASE(clusters)
{
	static const uint32_t near[CARRIERS] = {0, 1, 0, 1}, ends[] = {2, 4, 5}, all[] = {CARRIERS};
	static const uint32_t apart[] = {0, 2, 1, 3, 4}, in_order[] = {0, 1, 2, 3};
	wp_group_config config = {.carriers = CARRIERS,
				  .work_stealing = true,
				  .placement = WP_PLACE_CLUSTER_TWO_CHOICES,
				  .cluster_of = near};

	clusters_are(config, 2, ends, apart);
	config.spare_carriers = 1;
	clusters_are(config, 3, ends, apart);
	config.cluster_of = NULL;
	clusters_are(config, 1, all, in_order);
}

static bool has(uint32_t ring, const char *name)
{
	wp_trace_event events[EVENTS];
	uint64_t number = 0, kept = wp_group_trace(group, ring, &number, events, EVENTS);

	for (uint64_t at = 0; at < kept; at++)
		if (strcmp(events[at].name, name) == 0)
			return true;
	return false;
}

/* A step is an event of the carrier that ran it. */
CASE(rings)
{
	static const char *const names[] = {"on zero", "on one", "on two"};
	int64_t deadline_ns = patience();
	wp_trace_event first;
	uint64_t number;

	open_as((wp_group_config){.carriers = 3, .trace_events = EVENTS});
	join(start_as(&(wp_vthread_config){.run = nothing, .carrier = 0}), "one more");
	for (int on = 0; on < 3; on++) {
		wp_vthread_config one = {.name = names[on], .run = nothing, .carrier = on};

		join(start_as(&one), "a thread");
		while (!has((uint32_t)on, names[on]) && wp_clock_ns() < deadline_ns)
			wp_yield(); /* the event is kept after its step */
	}
	for (uint32_t ring = 0; ring < 3; ring++)
		for (uint32_t on = 0; on < 3; on++)
			check(has(ring, names[on]) == (ring == on),
			      "an event in its carrier's ring");
	number = 0;
	check(wp_group_trace(group, 0, &number, &first, 1) == 1 && number == 1,
	      "as many as there is room for");
	check(wp_trace_cost_ns(2) >= 0, "what an event costs");
	close_group();
}

static void *switches(void *arg)
{
	for (uint32_t turn = 0; turn < SWITCHES; turn++) {
		check(wp_group_trace_on(group, 1u << turn) == WP_OK, "a switch");
		wp_group_trace_off(group);
	}
	return arg;
}

/* Several threads ask for larger rings at once. ThreadSanitizer finds accesses outside the lock. */
CASE(switched)
{
	pthread_t other;

	open_group(1, false, 0);
	pthread_create(&other, NULL, switches, NULL);
	switches(NULL);
	pthread_join(other, NULL);
	check(wp_group_traced(group) == 1u << (SWITCHES - 1), "the largest");
	check(wp_group_tracing(group) == 0, "that it is off");
	close_group();
}

/* The largest valid ring, and one that is larger. */
CASE(largest)
{
	open_group(1, false, 0);
	check(wp_group_trace_on(group, WP_TRACE_MOST) == WP_OK, "the largest ring");
	check(wp_group_tracing(group) == WP_TRACE_MOST, "its size");
	check(wp_group_trace_on(group, 2 * WP_TRACE_MOST) == WP_MISUSED,
	      "that there is none larger");
	close_group();
}

enum { WAKES = 50 };

/* Each start wakes a carrier that sleeps, and has something for it. */
CASE(counted)
{
	int64_t deadline_ns = patience();
	wp_carrier_counts counts;
	uint64_t parks = 0; /* before the last start */

	open_group(1, false, 0);
	for (uint64_t wake = 0; wake < WAKES; wake++) {
		wp_vthread_config one = {.run = nothing};

		while (wp_group_counts(group, 0).parks == parks && wp_clock_ns() < deadline_ns)
			usleep(1000);
		usleep(2000); /* it has announced its park, and sleeps soon */
		parks = wp_group_counts(group, 0).parks;
		join(start_as(&one), "a thread");
	}
	counts = wp_group_counts(group, 0);
	check(counts.wakes > WAKES / 2, "a wake");
	check(counts.useless_wakes < WAKES / 4, "that a wake was of use");
	close_group();
}

/* Of nested marks only the first one counts. */
static int marks_twice(void *arg)
{
	check(wp_group_block() == WP_OK, "a mark");
	check(wp_group_block() == WP_ALREADY, "that it is marked");
	wp_group_unblock();
	return 0;
}

CASE(marked)
{
	wp_vthread_config one = {.run = marks_twice};

	open_as((wp_group_config){.carriers = 2, .placement = WP_PLACE_TWO_CHOICES});
	join(start_as(&one), "a thread");
	close_group();
}
