/* SPDX-License-Identifier: Apache-2.0
 * echo_modes.c - the modes with virtual threads; see echo.h.
 *
 *   unified   one group: the thread of a connection reads, calls the backend and writes; its
 *             descriptors belong to the poller of its carrier
 *   split     two groups: the thread of a connection reads, lets a thread of the other group, which
 *             has pollers of its own, call the backend, waits for it and writes */
#include "echo.h"
#include "base/error.h"

/* The request that the split mode hands over. */
typedef struct job {
	echo_handlers *handlers;
	const http_parser *request;
	uint32_t number;
	http_reply *reply;
} job;

static int work(void *arg)
{
	job *one = arg;

	echo_answer(one->handlers, one->request, one->number, one->reply);
	return 0;
}

static void answer_by_worker(void *handlers, const http_parser *request, uint32_t number,
			     http_reply *reply)
{
	job one = {handlers, request, number, reply};
	wp_group *workers = one.handlers->group;
	wp_vthread_config config = {.name = "worker",
				    .run = work,
				    .arg = &one,
				    .carrier = (int)(number % wp_group_size(workers))};
	wp_vthread *thread;
	int code = wp_vthread_new(workers, &config, &thread), failure;

	if (code == WP_OK) {
		code = wp_vthread_start(thread);
		while (code == WP_OK && wp_vthread_join(thread, WP_FOREVER, &failure) != WP_OK)
			;
		wp_vthread_free(thread);
	}
	if (code != WP_OK)
		http_say(reply, HTTP_STATUS_SERVICE_UNAVAILABLE, "%s\n", wp_error_text(code));
}

static wp_group *open_group(const echo_config *config)
{
	wp_group_config wanted = {.carriers = config->carriers,
				  .yield_us = 50,
				  .work_stealing = config->stealing != 0,
				  .bind = echo_bind,
				  .arg = (void *)(uintptr_t)config};
	wp_group *group;

	return wp_group_new(&group, &wanted) == WP_OK && wp_io_start(group, 0) == WP_OK ? group
											: NULL;
}

static void close_group(wp_group *group, echo_counts *counts)
{
	wp_group_close(group, WP_FOREVER, false, NULL, NULL);
	for (uint32_t index = 0; index < wp_group_size(group); index++) {
		wp_poll_counts more = wp_io_counts(group, index);

		counts->polled.looks += more.looks;
		counts->polled.events += more.events;
		counts->polled.sleeps += more.sleeps;
		counts->polled.wakeups += more.wakeups;
		counts->parks += wp_group_counts(group, index).parks;
	}
	wp_group_free(group);
}

bool echo_run(const echo_config *config, int fd, echo_counts *counts)
{
	bool is_split = config->mode == ECHO_SPLIT;
	wp_group *group = open_group(config);
	echo_handlers handlers = {.group = is_split ? open_group(config) : group};
	server_config wanted = {.group = group,
				.fd = fd,
				.answer = is_split ? answer_by_worker : echo_answer,
				.arg = &handlers,
				.traced = config->traces_depth ? handlers.group : NULL};
	http_server server;

	if (group == NULL || handlers.group == NULL ||
	    upstream_init(&handlers.backend, handlers.group, &config->address) != WP_OK ||
	    server_start(&server, &wanted) != WP_OK)
		return false;
	echo_is_ready(config);
	server_await_signal();
	server_stop(&server);
	counts->served = server.counts;
	upstream_fini(&handlers.backend);
	if (is_split)
		close_group(handlers.group, counts);
	close_group(group, counts);
	return true;
}
