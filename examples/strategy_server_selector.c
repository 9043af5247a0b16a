/* SPDX-License-Identifier: Apache-2.0
 * strategy_server_selector.c - produces clients that have a request to read; see
 * strategy_server.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "strategy_server.h"
#include "base/futex.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000, SWEEP_MS = 100 };

static void tell(strategy_selector *of, wp_mpsc_node *update)
{
	wp_mpsc_push(&of->updates, update);
	if (wp_guard_signal(&of->guard)) {
		wp_fetch_add_relaxed(&of->wakeups, 1);
		wp_event_signal(of->event);
	}
}

void strategy_client_wants(strategy_client *client, enum strategy_next wants)
{
	client->wants = wants;
	tell(client->selector, &client->update);
}

void strategy_selector_stop(strategy_selector *of)
{
	tell(of, &of->stop);
}

static void drop(strategy_client *client)
{
	strategy_selector *of = client->selector;

	*client->back = client->next;
	if (client->next != NULL)
		client->next->back = client->back;
	of->served.accepted++;
	of->served.requests += client->requests;
	close(client->fd);
	free(client);
}

static void arm(strategy_client *client, int operation)
{
	strategy_selector *of = client->selector;
	struct epoll_event once = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = client};

	client->is_armed = true;
	of->timed += client->until_ns != WP_FOREVER;
	if (epoll_ctl(of->epoll, operation, client->fd, &once) != 0) {
		of->timed -= client->until_ns != WP_FOREVER;
		drop(client);
	}
}

static void join(strategy_client *client)
{
	strategy_selector *of = client->selector;

	client->next = of->first;
	client->back = &of->first;
	if (client->next != NULL)
		client->next->back = &client->next;
	of->first = client;
	arm(client, EPOLL_CTL_ADD);
}

/* No more requests are read. Clients that wait for one are ended. */
static void begin_stop(strategy_selector *of)
{
	of->is_told = true;
	of->until_ns = wp_deadline_in((int64_t)SERVE_PATIENCE_MS * NS_PER_MS);
	for (strategy_client *client = of->first; client != NULL; client = client->next)
		shutdown(client->fd, SHUT_RD);
}

static void take_updates(strategy_selector *of)
{
	wp_mpsc_node *update;

	while ((update = wp_mpsc_pop(&of->updates)) != NULL) {
		strategy_client *client = (strategy_client *)(void *)update;

		if (update == &of->stop)
			begin_stop(of);
		else if (client->wants == STRATEGY_JOIN)
			join(client);
		else if (client->wants == STRATEGY_READ)
			arm(client, EPOLL_CTL_MOD);
		else
			drop(client);
	}
}

/* Ends clients that are too late; their next task sees it. */
static void sweep(strategy_selector *of)
{
	int64_t now_ns = wp_clock_ns();

	for (strategy_client *client = of->first; client != NULL; client = client->next)
		if ((client->is_armed && now_ns > client->until_ns) ||
		    (of->is_told && now_ns > of->until_ns))
			shutdown(client->fd, SHUT_RDWR);
}

/* Blocks until an event or an update comes, unless one is there. */
static void look(strategy_selector *of)
{
	bool sweeps = of->timed != 0 || of->is_told;

	of->at = 0;
	of->polled.looks++;
	of->count = epoll_wait(of->epoll, of->events, STRATEGY_EVENTS, 0);
	if (of->count == 0) {
		wp_guard_announce(&of->guard);
		of->polled.sleeps++;
		if (!wp_mpsc_has_published(&of->updates)) {
			of->polled.looks++;
			of->count = epoll_wait(of->epoll, of->events, STRATEGY_EVENTS,
					       sweeps ? SWEEP_MS : -1);
		}
		wp_guard_leave(&of->guard);
	}
	if (sweeps)
		sweep(of);
}

/* The client of the next event. NULL: none is left. */
static strategy_client *next_ready(strategy_selector *of)
{
	while (of->at < of->count) {
		strategy_client *client = of->events[of->at++].data.ptr;

		if (client == NULL) /* the eventfd */
			continue;
		of->polled.events++;
		of->timed -= client->until_ns != WP_FOREVER;
		client->is_armed = false;
		client->is_ready = true;
		return client;
	}
	return NULL;
}

/* Blocks until there is a task. NULL: none will come. */
static void *produce(void *arg)
{
	strategy_selector *of = arg;
	strategy_client *client;

	while ((client = next_ready(of)) == NULL) {
		take_updates(of);
		if (of->is_told && of->first == NULL) {
			if (!of->is_over)
				wp_parker_unpark(&of->ended);
			of->is_over = true;
			return NULL;
		}
		look(of);
	}
	return client;
}

static enum wp_kind kind(void *arg, void *task)
{
	(void)task;
	return ((strategy_selector *)arg)->of->config->kind;
}

static void run(void *arg, void *task)
{
	strategy_client_go(task, kind(arg, task) != WP_NON_BLOCKING && !wp_is_non_blocking());
}

static int execute(void *arg, void *task)
{
	(void)arg;
	return strategy_client_execute(task);
}

static void reject(void *arg, void *task, int code)
{
	(void)arg;
	(void)code;
	strategy_client_wants(task, STRATEGY_LEAVE);
}

static void run_strategy(void *arg)
{
	wp_strategy_run(&((strategy_selector *)arg)->strategy);
}

static int start(void *arg)
{
	strategy_selector *of = arg;

	return wp_pool_execute(of->of->pool, &of->production);
}

static bool try_start(void *arg)
{
	strategy_selector *of = arg;

	return wp_pool_try_execute(of->of->pool, &of->production);
}

bool strategy_selector_open(strategy_selector *one, strategy_server *of, uint32_t index)
{
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
	wp_strategy_config config = {.mode = of->config->strategy,
				     .produce = produce,
				     .kind = kind,
				     .run = run,
				     .execute = execute,
				     .reject = reject,
				     .start = start,
				     .try_start = try_start,
				     .arg = one};

	wp_mpsc_init(&one->updates);
	wp_guard_init(&one->guard, WP_GUARD_SYMMETRIC);
	wp_strategy_init(&one->strategy, &config);
	wp_parker_init(&one->ended);
	one->of = of;
	one->index = index;
	one->production = (wp_job){.run = run_strategy, .arg = one};
	one->epoll = epoll_create1(EPOLL_CLOEXEC);
	one->event = wp_event_open();
	if (one->epoll < 0 || one->event < 0 ||
	    epoll_ctl(one->epoll, EPOLL_CTL_ADD, one->event, &edge) != 0)
		return false;
	errno = ENOMEM;
	return wp_strategy_dispatch(&one->strategy) == WP_OK;
}

void strategy_selector_close(strategy_selector *one, echo_counts *counts)
{
	wp_event_close(one->event);
	close(one->epoll);
	counts->served.accepted += one->served.accepted;
	counts->served.requests += one->served.requests;
	counts->polled.looks += one->polled.looks;
	counts->polled.events += one->polled.events;
	counts->polled.sleeps += one->polled.sleeps;
	counts->polled.wakeups += wp_load_relaxed(&one->wakeups);
	for (int how = 0; how < WP_CONSUMED_KINDS; how++)
		counts->consumed[how] += wp_strategy_count(&one->strategy, (enum wp_consumed)how);
}
