/* SPDX-License-Identifier: Apache-2.0
 * group_made.c - the memory of a group: carriers in domains and clusters. See worker.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sched/local_queue_carrier.h"
#include "base/error.h"
#include "sched/placement/group_placement.h"
#include "io/driver_epoll.h"
#include "sched/worker.h"

#ifndef WP_EXPLORE

static uint32_t cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < WP_GROUP_CARRIERS ? (uint32_t)count : WP_GROUP_CARRIERS;
}

/* Domain or cluster of each carrier: one beyond them would have no members, and they no place. */
static bool are_numbers(const uint32_t *numbers, uint32_t carriers)
{
	for (uint32_t index = 0; numbers != NULL && index < carriers; index++)
		if (numbers[index] >= carriers)
			return false;
	return true;
}

int wp__group_settle(wp_group_config *config)
{
	uint32_t events = config->trace_events;

	if (config->carriers == 0 && (config->domain_of != NULL || config->cluster_of != NULL))
		return WP_MISUSED;
	if (config->carriers == 0)
		config->carriers = cpus();
	if (config->carriers > WP_GROUP_CARRIERS ||
	    config->replacements > WP_GROUP_CARRIERS - config->carriers ||
	    (events & (events - 1)) != 0 || events > WP_TRACE_MOST ||
	    (uint32_t)config->placement > WP_PLACE_CLUSTER_TWO_CHOICES ||
	    !are_numbers(config->domain_of, config->carriers) ||
	    !are_numbers(config->cluster_of, config->carriers))
		return WP_MISUSED;
	return WP_OK;
}

void wp__group_give(wp_group *group)
{
	wp__epolls_free(group);
	wp__bodies_free(&group->bodies);
	wp__tracing_end(&group->tracing);
	wp__placed_free(group->placed);
	free(group->workers);
	free(group->spares.threads);
	free(group->members);
	free(group->homes);
	free(group->bounded);
	free(group->globals);
	free(group->domains);
	free(group);
}

/* Zeroed, on lines of its own; NULL: no memory. */
static void *room_for(size_t count, size_t size)
{
	size_t bytes = (count * size + WP_LINE - 1) / WP_LINE * WP_LINE;
	void *room = aligned_alloc(WP_LINE, bytes);

	return room == NULL ? NULL : memset(room, 0, bytes);
}

/* Without stealing each is in one of its own; so is a replacement. [before it is shared | wait-free] */
static bool is_in_domain(const wp_group_config *config, uint32_t index, uint32_t number)
{
	if (!config->work_stealing || index >= config->carriers - config->replacements)
		return index == number;
	return config->domain_of == NULL ? number == 0 : config->domain_of[index] == number;
}

static bool is_in_cluster(const wp_group_config *config, uint32_t index, uint32_t number)
{
	if (config->cluster_of == NULL || !config->work_stealing ||
	    index >= config->carriers - config->replacements)
		return number == 0;
	return config->cluster_of[index] == number;
}

/* One cluster of a domain, from its `first` member on; says where the next begins. */
static uint32_t make_cluster(wp_group *group, const wp_group_config *config, uint32_t number,
			     uint32_t cluster, uint32_t first)
{
	/* Who moves the queue of a carrier that is marked needs its ticket. */
	bool has_tickets = config->work_stealing || group->placed != NULL;
	wp_domain *domain = has_tickets ? &group->domains[number] : NULL;
	uint32_t end = first;

	for (uint32_t index = 0; index < config->carriers; index++) {
		wp_worker *one = &group->workers[index];

		if (!is_in_domain(config, index, number) || !is_in_cluster(config, index, cluster))
			continue;
		one->group = group;
		one->index = index;
		one->random = index + 1;
		wp_home_init(&one->home, domain, end++);
		one->home.carrier.poller = &one->poller;
		one->home.carrier.is_placed = group->placed != NULL;
		if (group->homes != NULL) {
			one->home.all = group->homes;
			one->home.number = (uint16_t)index;
			group->homes[index] = &one->home;
		}
		if (domain != NULL && group->bounded != NULL)
			wp_bounded_init(&one->home.carrier, &group->bounded[index]);
	}
	for (uint32_t inside = first; domain != NULL && inside < end; inside++) {
		domain->carriers[inside]->near_first = first;
		domain->carriers[inside]->near_end = end;
	}
	return end;
}

/* Its carriers, from `first` of the members on; says where the next domain's begin. */
static uint32_t make_domain(wp_group *group, const wp_group_config *config, uint32_t number,
			    uint32_t first)
{
	wp_domain *domain = &group->domains[number];
	uint32_t next = 0, count = 0;

	for (uint32_t index = 0; index < config->carriers; index++)
		count += is_in_domain(config, index, number);
	wp_domain_init(domain, group->members + first, count);
	if (group->globals != NULL)
		wp_global_init(domain, &group->globals[number]);
	for (uint32_t cluster = 0; next < count && cluster < config->carriers; cluster++)
		next = make_cluster(group, config, number, cluster, next);
	return first + count;
}

wp_group *wp__group_make(const wp_group_config *config)
{
	wp_group *group = room_for(1, sizeof(wp_group));
	uint32_t next = 0;
	bool has_traces;

	if (group == NULL)
		return NULL;
	group->size = config->carriers;
	group->config = *config;
	group->config.carriers += config->replacements;
	config = &group->config;
	group->spares.most = config->spares;
	group->domains = room_for(config->carriers, sizeof(wp_domain));
	group->members = room_for(config->carriers, sizeof(wp_carrier *));
	group->workers = room_for(config->carriers, sizeof(wp_worker));
	if (config->bounded) {
		group->bounded = room_for(config->carriers, sizeof(wp_bounded));
		group->globals = room_for(config->carriers, sizeof(wp_global));
	}
	has_traces = wp__tracing_begin(group, config->trace_events) == WP_OK;
	if (wp__placed_is_wanted(config))
		group->placed = wp__placed_new(group);
	if (group->placed != NULL && config->place_at_resume)
		group->homes = room_for(config->carriers, sizeof(wp_home *));
	group->spares.threads = calloc(config->spares + 1, sizeof(pthread_t));
	if (group->domains == NULL || group->members == NULL || group->workers == NULL ||
	    group->spares.threads == NULL ||
	    (config->bounded && (group->bounded == NULL || group->globals == NULL)) ||
	    !has_traces ||
	    (wp__placed_is_wanted(config) && group->placed == NULL) ||
	    (group->placed != NULL && config->place_at_resume && group->homes == NULL)) {
		wp__group_give(group);
		return NULL;
	}
	for (uint32_t number = 0; number < config->carriers; number++)
		next = make_domain(group, config, number, next);
	group->config.domain_of = group->config.cluster_of = NULL; /* they were the caller's */
	return group;
}

#endif
