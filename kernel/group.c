/* SPDX-License-Identifier: Apache-2.0
 * group.c - a group is made, and closed. Not explored, for it makes threads: stress/home.c has the
 * lists. */
#include "group.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "poller_epoll.h"
#include "worker.h"

#ifndef WP_EXPLORE

typedef void told(void *arg, wp_task *task, bool was_parked);

static void free_all(wp_group *group)
{
	wp__epolls_free(group);
	wp__bodies_free(&group->bodies);
	wp__traces_free(group->traces);
	free(group->workers);
	free(group->spares.threads);
	free(group->members);
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

/* By domain_of or cluster_of. [before it is shared | wait-free] */
static bool is_in(const uint32_t *number_of, uint32_t index, uint32_t number)
{
	return number_of == NULL ? number == 0 : number_of[index] == number;
}

/* One cluster of a domain, from its `first` member on; says where the next begins. */
static uint32_t make_cluster(wp_group *group, const wp_group_config *config, uint32_t number,
			     uint32_t cluster, uint32_t first)
{
	wp_domain *domain = config->work_stealing ? &group->domains[number] : NULL;
	uint32_t end = first;

	for (uint32_t index = 0; index < config->carriers; index++) {
		wp_worker *one = &group->workers[index];

		if (!is_in(config->domain_of, index, number) ||
		    !is_in(config->cluster_of, index, cluster))
			continue;
		one->group = group;
		one->index = index;
		one->random = index + 1;
		wp_home_init(&one->home, domain, end++);
		one->home.carrier.poller = &one->poller;
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
		count += is_in(config->domain_of, index, number);
	wp_domain_init(domain, group->members + first, count);
	for (uint32_t cluster = 0; next < count && cluster < config->carriers; cluster++)
		next = make_cluster(group, config, number, cluster, next);
	return first + count;
}

/* [before it is shared | allocates] */
static wp_group *make(const wp_group_config *config)
{
	wp_group *group = room_for(1, sizeof(wp_group));
	uint32_t next = 0;

	if (group == NULL)
		return NULL;
	group->config = *config;
	group->spares.most = config->spares;
	group->domains = room_for(config->carriers, sizeof(wp_domain));
	group->members = room_for(config->carriers, sizeof(wp_carrier *));
	group->workers = room_for(config->carriers, sizeof(wp_worker));
	if (config->trace_events != 0)
		group->traces = wp__traces_new(config->carriers, config->trace_events);
	group->spares.threads = calloc(config->spares + 1, sizeof(pthread_t));
	if (group->domains == NULL || group->members == NULL || group->workers == NULL ||
	    group->spares.threads == NULL ||
	    (config->trace_events != 0 && group->traces == NULL)) {
		free_all(group);
		return NULL;
	}
	for (uint32_t number = 0; number < config->carriers; number++)
		next = make_domain(group, config, number, next);
	group->config.domain_of = group->config.cluster_of = NULL; /* they were the caller's */
	return group;
}

/* Once. [the close | a system call if it sleeps] */
static void stop(wp_worker *one)
{
	if (one->has_thread && !one->is_stopped)
		wp_carrier_submit_pinned(&one->home.carrier, &one->stop);
	one->is_stopped = true;
}

/* WP_OK: it has ended. WP_TIMEOUT, WP_INTERRUPTED. [the close | blocks] */
static int await_exit(wp_worker *one, int64_t deadline_ns)
{
	/* [J2] relaxed: ordered by the join of its thread, which gives the close all that this carrier did;
	 * pairs J1; upholds Group!NothingRunsAfterClose. */
	while (one->has_thread && wp_load_relaxed(&one->exited) == 0) {
		int code = wp_futex_wait(&one->exited, 0, deadline_ns);

		if (code == WP_TIMEOUT || code == WP_INTERRUPTED)
			return code;
	}
	return WP_OK;
}

/* Tells all carriers to stop and waits for every exit that comes in time. WP_OK: all threads have
 * ended. WP_TIMEOUT, WP_INTERRUPTED: call it again. [the close | blocks] */
static int workers_join(wp_group *group, int64_t deadline_ns)
{
	int code, all = WP_OK;

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
	wp__spares_end(&group->spares);
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		if (group->workers[index].has_thread)
			pthread_join(group->workers[index].thread, NULL);
		group->workers[index].has_thread = false;
	}
	return WP_OK;
}

int wp_group_new(wp_group **group, const wp_group_config *config)
{
	wp_group *made = make(config);

	if (made == NULL)
		return WP_SYSTEM;
	for (uint32_t index = 0; index < config->carriers; index++) {
		wp_worker *one = &made->workers[index];
		int code = pthread_create(&one->thread, NULL, wp__worker_begin, one);

		one->has_thread = code == 0;
		if (code == 0)
			continue;
		while (workers_join(made, WP_FOREVER) != WP_OK)
			continue; /* a signal handler ran: they run on */
		free_all(made);
		errno = code;
		return WP_SYSTEM;
	}
	*group = made;
	return WP_OK;
}

void wp_group_free(wp_group *group)
{
	free_all(group);
}

/* WP_OK: no list has a task. [the close | blocks] */
static int wait_all(wp_group *group, int64_t deadline_ns)
{
	int code = WP_OK;

	for (uint32_t index = 0; index < group->config.carriers && code == WP_OK; index++)
		code = wp__home_wait(&group->workers[index].home, deadline_ns);
	return code;
}

/* What is there now. Says how many are listed there still. [the close | blocks shortly] */
static uint64_t hand_back_of(wp_home *home, told *each, void *arg)
{
	bool was_parked;
	wp_task *task;

	while ((task = wp__home_hand_back(home, &was_parked)) != NULL) {
		if (task->is_virtual)
			wp__vthread_abandon((wp_vthread *)(void *)task);
		if (each != NULL)
			each(arg, task, was_parked);
	}
	return wp_home_count(home);
}

/* When no carrier runs any more. In turns: what is on one's list may be queued at another. [the close
 * | waits for pushes that are on their way] */
static void hand_back(wp_group *group, told *each, void *arg)
{
	for (uint64_t left = 1; left != 0;) {
		left = 0;
		for (uint32_t index = 0; index < group->config.carriers; index++)
			left += hand_back_of(&group->workers[index].home, each, arg);
		if (left != 0)
			wp_yield();
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

/* [who is closing it | blocks] */
static int close_once(wp_group *group, int64_t deadline_ns, bool cancel, told *each,
		      void *arg)
{
	int code;

	for (uint32_t index = 0; index < group->config.carriers; index++)
		wp__home_shut(&group->workers[index].home);
	/* Once the stops are out, carriers leave tasks behind: there is nothing to wait for. */
	if (!cancel && !group->is_stopping && wait_all(group, deadline_ns) == WP_INTERRUPTED)
		return WP_INTERRUPTED;
	group->is_stopping = true;
	code = workers_join(group, with_grace(deadline_ns));
	if (code != WP_OK)
		return code;
	for (uint32_t index = 0; index < group->config.carriers; index++)
		wp_timers_clear(&group->workers[index].home.timers);
	hand_back(group, each, arg);
	group->is_closed = true;
	return WP_OK;
}

/* One close at a time: waits for another's as long as its own may take. [any thread | blocks] */
static int enter_close(wp_group *group, int64_t deadline_ns)
{
	int code = WP_OK;

	wp_lock_acquire(&group->closing);
	while (group->is_closing && code == WP_OK)
		code = wp_cond_wait(&group->left, &group->closing, deadline_ns);
	if (code == WP_OK)
		group->is_closing = true;
	wp_lock_release(&group->closing);
	return code;
}

static void leave_close(wp_group *group)
{
	wp_lock_acquire(&group->closing);
	group->is_closing = false;
	wp_cond_signal(&group->left);
	wp_lock_release(&group->closing);
}

int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel, told *each,
		   void *arg)
{
	int code;

	if (wp_group_running(group) >= 0)
		return WP_FORBIDDEN;
	code = enter_close(group, with_grace(deadline_ns));
	if (code != WP_OK)
		return code;
	if (!group->is_closed)
		code = close_once(group, deadline_ns, cancel, each, arg);
	leave_close(group);
	return code;
}

#endif
