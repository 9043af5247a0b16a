/* SPDX-License-Identifier: Apache-2.0
 * group.c - the threads of a group, and what its close does to them. Not explored, because it makes
 * threads: stress/scenarios/sched/carrier_tasks.c has the lists,
 * stress/scenarios/sched/group_close.c the close. */
#define _GNU_SOURCE
#include "sched/group.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/local_queue_carrier.h"
#include "sched/placement/group_placement.h"
#include "sched/worker.h"

typedef void told(void *arg, wp_task *task, bool was_parked);

/* Sends the stop, once. [the close | a system call if the carrier sleeps] */
static void stop(wp_worker *one)
{
	if (one->has_thread && !one->is_stopped)
		wp__carrier_tasks_stop(&one->home, &one->stop);
	one->is_stopped = true;
}

/* Waits until the carrier has ended. Returns WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [the close |
 * blocks] */
static int await_exit(wp_worker *one, int64_t deadline_ns)
{
	/* [group.1] relaxed: ordered by the join of the carrier's thread, which gives the close all
	 * that the carrier did; pairs worker.3; upholds Group!NothingRunsAfterClose. */
	while (one->has_thread && wp_load_relaxed(&one->exited) == 0) {
		int code = wp_futex_wait(&one->exited, 0, deadline_ns);

		if (code == WP_TIMEOUT || code == WP_INTERRUPTED)
			return code;
	}
	return WP_OK;
}

/* Stops all carriers, and waits for every exit that comes in time. Returns WP_OK if all threads
 * have ended. WP_TIMEOUT or WP_INTERRUPTED: call it again. [the close | blocks] */
static int workers_join(wp_group *group, int64_t deadline_ns)
{
	int code, all = WP_OK;

	if (group->placed != NULL)
		wp__spare_carrier_group_end(group->placed);
	for (uint32_t index = 0; index < group->config.carriers; index++)
		stop(&group->workers[index]);
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		code = await_exit(&group->workers[index], deadline_ns);
		if (code == WP_INTERRUPTED)
			return code;
		all = code == WP_OK ? all : code;
	}
	if (all != WP_OK)
		return all;
	wp__spare_threads_end(&group->spares);
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		if (group->workers[index].has_thread)
			pthread_join(group->workers[index].thread, NULL);
		group->workers[index].has_thread = false;
	}
	return WP_OK;
}

/* Starts the threads. Returns 0, or an errno if a thread does not start. [the maker of the group |
 * system calls] */
static int start_all(wp_group *group)
{
	for (uint32_t index = 0; index < group->size; index++) {
		wp_worker *one = &group->workers[index];
		int code = pthread_create(&one->thread, NULL, wp__worker_begin, one);

		one->has_thread = code == 0;
		if (code != 0)
			return code;
	}
	return group->placed == NULL ? 0 : wp__monitor_begin(group->placed);
}

int wp_group_new(wp_group **group, const wp_group_config *config)
{
	wp_group_config settled = *config;
	wp_group *made;
	int code = wp__group_settle(&settled);

	if (code != WP_OK)
		return code;
	made = wp__group_make(&settled);
	if (made == NULL)
		return WP_SYSTEM;
	code = start_all(made);
	if (code == 0) {
		*group = made;
		return WP_OK;
	}
	while (workers_join(made, WP_FOREVER) != WP_OK)
		continue; /* a signal handler ran, and carriers still run */
	wp__group_give(made);
	errno = code;
	return WP_SYSTEM;
}

void wp_group_free(wp_group *group)
{
	wp__wakers_wait(&group->wakers);
	wp__group_give(group);
}

/* Takes the tasks of one list that can be taken now, and removes them from their wait queues.
 * Returns how many are still listed there. [the close | blocks briefly] */
static uint64_t take_back_of(wp_carrier_tasks *home, wp_taken *taken)
{
	bool was_parked;
	wp_task *task;

	while ((task = wp__carrier_tasks_hand_back(home, &was_parked)) != NULL) {
		if (task->is_virtual) {
			wp__vthread_leave_line((wp_vthread *)(void *)task);
			wp__vthread_abandon_held((wp_vthread *)(void *)task);
		}
		task->next = NULL;
		task->back = was_parked ? &task->next : NULL;
		if (taken->first == NULL)
			taken->first = task;
		else
			taken->last->next = task;
		taken->last = task;
	}
	return wp_carrier_tasks_count(home);
}

/* Like take_back_of, for all lists. [the close | blocks briefly] */
static uint64_t take_back(wp_group *group)
{
	uint64_t left = 0;

	if (group->placed != NULL)
		wp__group_placement_give_back(group->placed);
	for (uint32_t index = 0; index < group->config.carriers; index++)
		left += take_back_of(&group->workers[index].home, &group->taken);
	return left;
}

/* Hands back the taken tasks. By now all of them have left their wait queues: an entry of such a
 * queue may lie on the stack of another thread. [the close | as each] */
static void hand_back(wp_group *group, told *each, void *arg)
{
	wp_task *task;

	while ((task = group->taken.first) != NULL) {
		bool was_parked = task->back != NULL;

		group->taken.first = task->next;
		if (task->is_virtual)
			wp__vthread_abandon((wp_vthread *)(void *)task);
		if (each != NULL)
			each(arg, task, was_parked);
	}
}

static int64_t with_grace(int64_t deadline_ns)
{
	int64_t now_ns;

	if (deadline_ns > WP_FOREVER - WP_CLOSE_GRACE_NS)
		return WP_FOREVER;
	now_ns = wp_clock_ns();
	return (deadline_ns > now_ns ? deadline_ns : now_ns) + WP_CLOSE_GRACE_NS;
}

/* Returns the deadline for steps that schedulers run. */
static int64_t at_least_grace(int64_t deadline_ns)
{
	int64_t grace_ns = wp_clock_ns() + WP_CLOSE_GRACE_NS;

	return deadline_ns > grace_ns ? deadline_ns : grace_ns;
}

/* A close of a group. `close` comes first, because group_close.c knows only that. */
struct group_close {
	wp_close close;
	wp_group *group;
	told *each;
	void *arg;
};

static wp_group *group_of(wp_close *close)
{
	return ((struct group_close *)(void *)close)->group;
}

static wp_carrier_tasks *home_of(wp_close *close, uint32_t index)
{
	return &group_of(close)->workers[index].home;
}

static void shut(wp_close *close)
{
	close->given_ns = at_least_grace(close->deadline_ns);
	for (uint32_t index = 0; index < close->count; index++)
		wp__carrier_tasks_shut(home_of(close, index));
}

static int join(wp_close *close)
{
	wp_group *group = group_of(close);
	int code = workers_join(group, with_grace(close->deadline_ns));

	if (code != WP_OK)
		return code;
	if (group->placed != NULL)
		wp__monitor_end(group->placed);
	for (uint32_t index = 0; index < close->count; index++)
		wp_timers_clear(&home_of(close, index)->timers);
	return WP_OK;
}

static uint64_t take_group_back(wp_close *close)
{
	return take_back(group_of(close));
}

static void hand_group_back(wp_close *close)
{
	struct group_close *own = (struct group_close *)(void *)close;

	hand_back(own->group, own->each, own->arg);
}

int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel, told *each, void *arg)
{
	struct group_close own = {.group = group, .each = each, .arg = arg};

	if (wp_group_running(group) >= 0)
		return WP_FORBIDDEN;
	own.close = (wp_close){.turn_ns = with_grace(deadline_ns),
			       .deadline_ns = deadline_ns,
			       .cancels = cancel,
			       .count = group->config.carriers,
			       .home = home_of,
			       .shut = shut,
			       .join = join,
			       .take_back = take_group_back,
			       .hand_back = hand_group_back};
	return wp__close(&group->closing, &own.close);
}

/* The memory of a group: carriers in domains and clusters. */

enum { YIELD_US = 50 }; /* the default */

static uint32_t cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	return count < WP_GROUP_CARRIERS ? (uint32_t)count : WP_GROUP_CARRIERS;
}

/* Returns true if each number of a domain or cluster is below `carriers`. The arrays have no room
 * for the members of another one. */
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
	if (config->yield_us == 0)
		config->yield_us = YIELD_US;
	if (config->carriers > WP_GROUP_CARRIERS ||
	    config->spare_carriers > WP_GROUP_CARRIERS - config->carriers ||
	    (events & (events - 1)) != 0 || events > WP_TRACE_MOST ||
	    (uint32_t)config->placement >= WP_PLACE_POLICIES ||
	    !are_numbers(config->domain_of, config->carriers) ||
	    !are_numbers(config->cluster_of, config->carriers))
		return WP_MISUSED;
	return WP_OK;
}

void wp__group_give(wp_group *group)
{
	for (uint32_t index = 0; group->workers != NULL && index < group->config.carriers; index++)
		if (group->workers[index].io != NULL)
			group->workers[index].io->free(group->workers[index].io);
	wp__bodies_free(&group->bodies);
	wp__tracing_end(&group->tracing);
	wp__group_placement_free(group->placed);
	free(group->workers);
	free(group->spares.threads);
	free(group->members);
	free(group->homes);
	free(group->bounded);
	free(group->domains);
	free(group);
}

/* Returns zeroed memory on cache lines of its own, or NULL if there is none. */
static void *room_for(size_t count, size_t size)
{
	size_t bytes = (count * size + WP_LINE - 1) / WP_LINE * WP_LINE;
	void *room = aligned_alloc(WP_LINE, bytes);

	return room == NULL ? NULL : memset(room, 0, bytes);
}

/* Returns true if the carrier belongs to that domain. Without stealing each carrier has a domain of
 * its own; so has a spare carrier. [before it is shared | wait-free] */
static bool is_in_domain(const wp_group_config *config, uint32_t index, uint32_t number)
{
	if (!config->work_stealing || index >= config->carriers - config->spare_carriers)
		return index == number;
	return config->domain_of == NULL ? number == 0 : config->domain_of[index] == number;
}

static bool is_in_cluster(const wp_group_config *config, uint32_t index, uint32_t number)
{
	if (config->cluster_of == NULL || !config->work_stealing ||
	    index >= config->carriers - config->spare_carriers)
		return number == 0;
	return config->cluster_of[index] == number;
}

/* Makes one cluster of a domain, from member `first` on. Returns where the next one begins. */
static uint32_t make_cluster(wp_group *group, const wp_group_config *config, uint32_t number,
			     uint32_t cluster, uint32_t first)
{
	/* A thread that moves the queue of a blocked carrier takes the ticket of that queue. */
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
		wp_carrier_tasks_init(&one->home, domain, end++);
		one->home.carrier.poller = &one->poller;
		one->home.carrier.is_placed = group->placed != NULL;
		if (group->homes != NULL) {
			one->home.all = group->homes;
			one->home.number = (uint16_t)index;
			group->homes[index] = &one->home;
		}
		if (domain != NULL && group->bounded != NULL)
			wp_local_queue_carrier_init(&one->home.carrier, &group->bounded[index]);
	}
	for (uint32_t inside = first; domain != NULL && inside < end; inside++) {
		domain->carriers[inside]->near_first = first;
		domain->carriers[inside]->near_end = end;
	}
	return end;
}

/* Makes the carriers of a domain, from entry `first` of the members on. Returns where the next
 * domain begins. */
static uint32_t make_domain(wp_group *group, const wp_group_config *config, uint32_t number,
			    uint32_t first)
{
	wp_domain *domain = &group->domains[number];
	uint32_t next = 0, count = 0;

	for (uint32_t index = 0; index < config->carriers; index++)
		count += is_in_domain(config, index, number);
	wp_domain_init(domain, group->members + first, count);
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
	group->config.carriers += config->spare_carriers;
	config = &group->config;
	group->spares.most = config->spares;
	group->domains = room_for(config->carriers, sizeof(wp_domain));
	group->members = room_for(config->carriers, sizeof(wp_carrier *));
	group->workers = room_for(config->carriers, sizeof(wp_worker));
	if (config->bounded)
		group->bounded = room_for(config->carriers, sizeof(wp_local_queue_carrier));
	has_traces = wp__tracing_begin(group, config->trace_events) == WP_OK;
	if (wp__group_placement_is_wanted(config))
		group->placed = wp__group_placement_new(group);
	if (group->placed != NULL && config->place_at_resume)
		group->homes = room_for(config->carriers, sizeof(wp_carrier_tasks *));
	group->spares.threads = calloc(config->spares + 1, sizeof(pthread_t));
	if (group->domains == NULL || group->members == NULL || group->workers == NULL ||
	    group->spares.threads == NULL || (config->bounded && group->bounded == NULL) ||
	    !has_traces || (wp__group_placement_is_wanted(config) && group->placed == NULL) ||
	    (group->placed != NULL && config->place_at_resume && group->homes == NULL)) {
		wp__group_give(group);
		return NULL;
	}
	for (uint32_t number = 0; number < config->carriers; number++)
		next = make_domain(group, config, number, next);
	group->config.domain_of = group->config.cluster_of = NULL; /* they belong to the caller */
	return group;
}

/* The counts of a group, read by any thread. */

uint32_t wp_group_size(const wp_group *group)
{
	return group->size;
}

wp_carrier_counts wp_group_counts(wp_group *group, uint32_t index)
{
	wp_worker *one = &group->workers[index];
	wp_local_queue_carrier *bounded = one->home.carrier.bounded;

	return (wp_carrier_counts){
		.runs = wp__count_read(&one->runs),
		.directed = wp__count_read(&one->directed),
		.probed = wp__count_read(&one->probed),
		.recheck = wp__count_read(&one->recheck),
		.fruitless = wp__count_read(&one->fruitless),
		.drains = wp__count_read(&one->drains),
		.parks = wp__count_read(&one->parks),
		.wakes = wp__count_read(&one->wakes),
		.useless_wakes = wp__count_read(&one->useless_wakes),
		.pinned = wp__count_read(&one->pinned),
		.runnable = wp_carrier_tasks_runnable(&one->home),
		.load = group->placed == NULL ? 0 : wp__group_placement_load(group->placed, index),
		.spilled = bounded == NULL ? 0 : wp__count_read(&bounded->spilled),
		.looted = bounded == NULL ? 0 : wp__count_read(&bounded->looted),
	};
}

wp_placement_counts wp_group_placement_counts(wp_group *group, uint32_t index)
{
	wp_placement_tally *tally;

	if (group->placed == NULL)
		return (wp_placement_counts){0};
	tally = &group->placed->placement.slots[index].tally;
	return (wp_placement_counts){
		.home = wp__count_read(&tally->home),
		.other = wp__count_read(&tally->other),
		.nowhere = wp__count_read(&tally->nowhere),
		.marks = wp__count_read(&tally->marks),
		.suspects = wp__count_read(&tally->suspects),
		.moved = wp__count_read(&tally->moved),
		.taken = wp__count_read(&tally->taken),
	};
}

wp_domain_counts wp_group_domain_counts(wp_group *group, uint32_t index)
{
	wp_domain *domain = group->workers[index].home.carrier.domain;

	if (domain == NULL || !group->config.work_stealing)
		return (wp_domain_counts){0};
	return (wp_domain_counts){
		.started = wp__count_read(&domain->counts.started),
		.denied = wp__count_read(&domain->counts.denied),
		.denied_other = wp__count_read(&domain->counts.denied_other),
		.no_idle = wp__count_read(&domain->counts.no_idle),
		.lost_tickets = wp__count_read(&domain->counts.lost_tickets),
	};
}
