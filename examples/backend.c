/* SPDX-License-Identifier: Apache-2.0
 * backend.c - a mock HTTP backend: each reply takes a think time, during which no thread works.
 *
 *   build/examples/backend --port 9000 --think-ms 30 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "options.h"
#include "serve.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

static uint32_t port, think_ms, carriers = 1;

static const cli_option options[] = {
	{.name = "--port", .number = &port, .most = 65535, .help = "0: any that is free"},
	{.name = "--think-ms", .number = &think_ms, .most = 600000, .help = "before each reply; 0"},
	{.name = "--carriers",
	 .number = &carriers,
	 .least = 1,
	 .most = WP_GROUP_CARRIERS,
	 .help = "OS threads that run everything; 1"},
};

static void think(void *arg, const http_parser *request, uint32_t number, http_reply *reply)
{
	(void)arg;
	(void)request;
	(void)number;
	if (think_ms != 0)
		wp_vthread_sleep_until(wp_deadline_in((int64_t)think_ms * NS_PER_MS));
	http_say(reply, HTTP_STATUS_OK, "the backend says hello\n");
}

int main(int argc, char **argv)
{
	server_config config = {.answer = think};
	static http_server served;

	options_read(argc, argv, options, sizeof(options) / sizeof(*options),
		     "usage: backend [OPTIONS]: answers every request with the same few bytes",
		     "  backend --port 9000 --think-ms 30\n"
		     "  backend --port 0                   prints the port that it has got");
	server_block_signals();
	config.fd = server_listen(&port);
	if (config.fd < 0)
		options_refuse("--port %u: %s", port, strerror(errno));
	if (wp_group_new(&config.group, &(wp_group_config){.carriers = carriers, .yield_us = 50}) !=
		    WP_OK ||
	    wp_io_start(config.group, 0) != WP_OK || server_start(&served, &config) != WP_OK)
		options_refuse("--carriers %u: %s", carriers, strerror(errno));
	printf("listening on 127.0.0.1:%u\n", port);
	fflush(stdout);
	server_await_signal();
	server_stop(&served);
	wp_group_close(config.group, WP_FOREVER, false, NULL, NULL);
	wp_group_free(config.group);
	return 0;
}
