/* SPDX-License-Identifier: Apache-2.0
 * echo_strategy_server.c - the strategy mode: its pool, its selectors, and their end; see
 * strategy_server.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strategy_server.h"
#include "base/error.h"
#include "sched/timer.h"

static void add_client(void *arg, int fd, uint32_t number)
{
	strategy_server *of = arg;
	strategy_client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		close(fd);
		return;
	}
	client->selector = &of->selectors[number % of->config->carriers];
	client->fd = fd;
	client->until_ns = WP_FOREVER;
	http_parser_init(&client->parser, HTTP_REQUEST);
	strategy_client_wants(client, STRATEGY_JOIN);
}

static void bind_thread(void *arg)
{
	strategy_server *of = arg;
	const echo_config *config = of->config;

	echo_bind((void *)(uintptr_t)config,
		  wp_fetch_add_relaxed(&of->bound, 1) % config->carriers);
}

/* Each selector has one thread that waits and two that are reserved. At most half of the other
 * threads are reserved, because those run the queued jobs. */
static int open_pool(strategy_server *of)
{
	uint32_t threads = of->config->threads, selectors = of->config->carriers;
	uint32_t enough = 2 * selectors, most = (threads - selectors) / 2;
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = 0;
	config.max = threads;
	config.reserved = (int32_t)(enough < most ? enough : most);
	config.name = "strategy_server";
	config.begin = bind_thread;
	config.arg = of;
	return wp_pool_new(&config, &of->pool);
}

static bool open_all(strategy_server *of)
{
	uint32_t many = of->config->carriers;
	size_t size = many * sizeof(*of->selectors);

	of->selectors = aligned_alloc(WP_LINE, size);
	if (of->selectors == NULL || open_pool(of) != WP_OK)
		return false;
	memset(of->selectors, 0, size);
	strategy_lines_init(&of->lines, &of->config->address);
	for (uint32_t index = 0; index < many; index++)
		if (!strategy_selector_open(&of->selectors[index], of, index))
			return false;
	return true;
}

bool echo_strategy(const echo_config *config, int fd, echo_counts *counts)
{
	strategy_server all = {.config = config};
	wp_pool_counts pool;

	if (!open_all(&all))
		return false;
	echo_is_ready(config);
	echo_accept(fd, add_client, &all);
	wp_store_relaxed(&all.is_stopping, true);
	for (uint32_t index = 0; index < config->carriers; index++)
		strategy_selector_stop(&all.selectors[index]);
	for (uint32_t index = 0; index < config->carriers; index++)
		wp_parker_park(&all.selectors[index].ended);
	wp_pool_close(all.pool);
	wp_pool_wait(all.pool, WP_FOREVER);
	for (uint32_t index = 0; index < config->carriers; index++)
		strategy_selector_close(&all.selectors[index], counts);
	wp_pool_counts_read(all.pool, &pool);
	counts->threads = pool.started;
	wp_pool_free(all.pool);
	strategy_lines_fini(&all.lines);
	free(all.selectors);
	return true;
}
