/* SPDX-License-Identifier: Apache-2.0
 * echo_server.c - an HTTP server with handlers that call a backend as if that blocked; see echo.h.
 *
 *   build/examples/backend --port 9000 --think-ms 1 &
 *   build/examples/echo_server --port 8080 --backend 127.0.0.1:9000 &
 *   curl http://127.0.0.1:8080/ http://127.0.0.1:8080/parallel */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "echo.h"
#include "options.h"
#include "base/topology.h"

enum { US_PER_S = 1000000, ECHO_THREADS = 30000 };

static const char *const modes[] = {"unified", "split", "reactive", "strategy", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const strategies[] = {"produce-consume", "produce-execute-consume",
					 "execute-produce-consume", "adaptive", NULL};
static const char *const kinds[] = {"blocking", "non-blocking", "either", NULL};
static const char *const pins[] = {"none", "each", "spare", NULL};

/* Modes of an option. */
enum { GROUPS = 1 << ECHO_UNIFIED | 1 << ECHO_SPLIT, POOL = 1 << ECHO_STRATEGY };

static echo_config config = {.carriers = 1, .strategy = WP_ADAPTIVE, .threads = 200};

static const cli_option options[] = {
	{.name = "--port", .number = &config.port, .most = 65535, .help = "0: any that is free"},
	{.name = "--backend", .text = &config.backend, .help = "ADDRESS:PORT of the backend"},
	{.name = "--mode",
	 .number = &config.mode,
	 .words = modes,
	 .help = "who runs handlers: who does the I/O; a group of their own; no virtual threads;"
		 " a pool of threads"},
	{.name = "--carriers",
	 .number = &config.carriers,
	 .least = 1,
	 .most = WP_GROUP_CARRIERS,
	 .help = "OS threads; split: of each of its two groups; strategy: selectors"},
	{.name = "--stealing",
	 .number = &config.stealing,
	 .words = switches,
	 .with = "--mode",
	 .with_words = GROUPS,
	 .help = "may idle carriers help busy ones?"},
	{.name = "--pin",
	 .number = &config.pin,
	 .words = pins,
	 .help = "none; each carrier to a CPU; all to one CPU more than there are carriers"},
	{.name = "--strategy",
	 .number = &config.strategy,
	 .words = strategies,
	 .with = "--mode",
	 .with_words = POOL,
	 .help = "who runs what a selector produces; adaptive"},
	{.name = "--kind",
	 .number = &config.kind,
	 .words = kinds,
	 .with = "--mode",
	 .with_words = POOL,
	 .help = "what the strategy is told of handlers; blocking"},
	{.name = "--threads",
	 .number = &config.threads,
	 .least = 2,
	 .most = ECHO_THREADS,
	 .with = "--mode",
	 .with_words = POOL,
	 .help = "of the strategy's pool, selectors among them; 200"},
	{.name = "--stats", .flag = &config.has_stats, .help = "print counts as JSON at the end"},
	{.name = "--trace-depth",
	 .flag = &config.traces_depth,
	 .with = "--mode",
	 .with_words = GROUPS,
	 .help = "with --stats: the longest queue before an answer; costs a little"},
};

static const char usage[] =
	"usage: echo_server --backend ADDRESS:PORT [OPTIONS]\n\n"
	"  GET /          what the backend replies\n"
	"  GET /parallel  two calls to it at once, and which carriers made them";
static const char examples[] =
	"  echo_server --port 8080 --backend 127.0.0.1:9000\n"
	"  echo_server --port 8080 --backend 127.0.0.1:9000 --mode split --carriers 2 --pin each";

static void read_backend(void)
{
	const char *colon = config.backend == NULL ? NULL : strrchr(config.backend, ':');
	char host[INET_ADDRSTRLEN] = "", *end = NULL;
	unsigned long port = 0;

	if (colon != NULL && colon - config.backend < (long)sizeof(host)) {
		memcpy(host, config.backend, (size_t)(colon - config.backend));
		port = strtoul(colon + 1, &end, 10);
	}
	config.address.sin_family = AF_INET;
	config.address.sin_port = htons((uint16_t)port);
	if (end == NULL || *end != '\0' || port == 0 || port > UINT16_MAX ||
	    inet_pton(AF_INET, host, &config.address.sin_addr) != 1)
		options_refuse("--backend %s: allowed is an IPv4 address and a port, as in "
			       "127.0.0.1:9000",
			       config.backend == NULL ? "is needed" : config.backend);
}

static void read_cpus(void)
{
	uint32_t wanted = config.pin == ECHO_SPARE ? config.carriers + 1 : config.carriers;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		options_refuse("--pin: %s", strerror(errno));
	for (uint32_t cpu = 0; cpu < CPU_SETSIZE && config.cpu_count < WP_GROUP_CARRIERS; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			config.cpus[config.cpu_count++] = cpu;
	if (config.pin != ECHO_FLOATING && wanted > config.cpu_count)
		options_refuse("--pin %s: %u CPUs are needed for --carriers %u, %u are allowed",
			       pins[config.pin], wanted, config.carriers, config.cpu_count);
}

void echo_bind(void *arg, uint32_t index)
{
	const echo_config *of = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	if (of->pin == ECHO_EACH)
		CPU_SET(of->cpus[index], &set);
	for (uint32_t at = 0; of->pin == ECHO_SPARE && at <= of->carriers; at++)
		CPU_SET(of->cpus[at], &set);
	if (of->pin != ECHO_FLOATING && sched_setaffinity(0, sizeof(set), &set) != 0)
		fprintf(stderr, "echo_server: not pinned: %s\n", strerror(errno));
}

void echo_is_ready(const echo_config *of)
{
	printf("listening on 127.0.0.1:%u\n", of->port);
	fflush(stdout);
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / US_PER_S;
}

static void print_counts(const echo_counts *counts)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	printf("{\"mode\": \"%s\", \"carriers\": %u, \"requests\": %" PRIu64
	       ", \"accepted\": %" PRIu64 ", \"looks\": %" PRIu64 ", \"events\": %" PRIu64
	       ", \"sleeps\": %" PRIu64 ", \"wakeups\": %" PRIu64 ", \"parks\": %" PRIu64,
	       modes[config.mode], config.carriers, counts->served.requests,
	       counts->served.accepted, counts->polled.looks, counts->polled.events,
	       counts->polled.sleeps, counts->polled.wakeups, counts->parks);
	if (config.mode == ECHO_STRATEGY)
		printf(", \"threads\": %" PRIu64 ", \"consumed\": %" PRIu64 ", \"tagged\": %" PRIu64
		       ", \"executed\": %" PRIu64 ", \"handed_over\": %" PRIu64,
		       counts->threads, counts->consumed[WP_CONSUMED],
		       counts->consumed[WP_CONSUMED_TAGGED], counts->consumed[WP_EXECUTED],
		       counts->consumed[WP_HANDED_OVER]);
	if (config.traces_depth)
		printf(", \"depth_most\": %" PRIu64, counts->served.depth_most);
	printf(", \"user_s\": %.6f, \"system_s\": %.6f, \"switches\": %ld, \"preempted\": %ld}\n",
	       seconds(used.ru_utime), seconds(used.ru_stime), used.ru_nvcsw, used.ru_nivcsw);
}

int main(int argc, char **argv)
{
	static bool (*const runs[])(const echo_config *, int, echo_counts *) = {
		echo_run, echo_run, echo_react, echo_strategy};
	static echo_counts counts;
	int fd;

	options_read(argc, argv, options, sizeof(options) / sizeof(*options), usage, examples);
	read_backend();
	read_cpus();
	if (config.mode == ECHO_STRATEGY && config.threads <= config.carriers)
		options_refuse("--threads %u: --carriers %u wait, and one more is needed",
			       config.threads, config.carriers);
	server_block_signals();
	fd = server_listen(&config.port);
	if (fd < 0)
		options_refuse("--port %u: %s", config.port, strerror(errno));
	if (!runs[config.mode](&config, fd, &counts))
		options_refuse("--carriers %u: %s", config.carriers, strerror(errno));
	if (config.has_stats)
		print_counts(&counts);
	return 0;
}
