/* SPDX-License-Identifier: Apache-2.0
 * load.c - sends requests to an HTTP server at a fixed rate, or as fast as it replies, and prints
 * the times.
 *
 * It contains nothing of the kernel, so it is the same for every server. It prints `measuring` when
 * the warm-up is over and `measured` when the time is over, so that its caller can look at the
 * server at both times, and then one JSON object. Times count from when a request was due
 * (client.h). */
#define _GNU_SOURCE
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

enum { THREADS_MOST = 64 };

typedef struct options {
	struct sockaddr_in to;
	unsigned connections, inflight, threads;
	double rate, seconds, warmup_s, drain_s;
} options;

static client *clients[THREADS_MOST];
static int failures[THREADS_MOST]; /* errno of the opening */
static pthread_barrier_t opened, timed;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "load: %s: %s\n", what, why);
	exit(2);
}

static void *run(void *argument)
{
	client **const self = argument;
	prctl(PR_SET_TIMERSLACK, 1); /* otherwise a timeout may be 50 us late */
	failures[self - clients] = client_open(*self) ? 0 : errno;
	pthread_barrier_wait(&opened);
	pthread_barrier_wait(&timed);
	client_run(*self);
	client_close(*self);
	return NULL;
}

static double number(const char *name, const char *text, double least, double most)
{
	char *end;
	const double value = strtod(text, &end);
	if (end == text || *end != '\0' || !(value >= least && value <= most))
		fail(name, "not such a number");
	return value;
}

static struct sockaddr_in address(const char *text)
{
	struct sockaddr_in to = {.sin_family = AF_INET};
	char host[64];
	const char *colon = strrchr(text, ':');
	if (colon == NULL || (size_t)(colon - text) >= sizeof host)
		fail(text, "not HOST:PORT");
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	if (inet_pton(AF_INET, host, &to.sin_addr) != 1)
		fail(text, "not an IPv4 address");
	to.sin_port = htons((uint16_t)number("port", colon + 1, 1, 65535));
	return to;
}

static options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{"connections", 1, NULL, 'c'}, {"rate", 1, NULL, 'r'},   {"inflight", 1, NULL, 'i'},
		{"seconds", 1, NULL, 's'},     {"warmup", 1, NULL, 'w'}, {"drain", 1, NULL, 'd'},
		{"threads", 1, NULL, 't'},     {NULL, 0, NULL, 0},
	};
	options chosen = {
		.connections = 100, .threads = 1, .seconds = 1, .warmup_s = 0.2, .drain_s = 5};
	for (int at, option; (option = getopt_long(argc, argv, "", known, &at)) != -1;) {
		const char *const name = option == '?' ? "" : known[at].name;
		switch (option) {
		case 'c':
			chosen.connections = (unsigned)number(name, optarg, 1, 1e6);
			break;
		case 'i':
			chosen.inflight = (unsigned)number(name, optarg, 1, 1e6);
			break;
		case 't':
			chosen.threads = (unsigned)number(name, optarg, 1, THREADS_MOST);
			break;
		case 'r':
			chosen.rate = number(name, optarg, 0.1, 1e8);
			break;
		case 's':
			chosen.seconds = number(name, optarg, 0.01, 3600);
			break;
		case 'w':
			chosen.warmup_s = number(name, optarg, 0, 3600);
			break;
		case 'd':
			chosen.drain_s = number(name, optarg, 0, 3600);
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 1)
		fail("usage",
		     "load HOST:PORT [--connections N] [--rate R | --inflight N] [--seconds S] "
		     "[--warmup S] [--drain S] [--threads N]");
	chosen.to = address(argv[optind]);
	if (chosen.inflight == 0)
		chosen.inflight = chosen.connections;
	if (chosen.threads > chosen.connections)
		chosen.threads = chosen.connections;
	if (chosen.threads > chosen.inflight)
		chosen.threads = chosen.inflight; /* otherwise one of them could never send */
	return chosen;
}

static unsigned share(unsigned all, unsigned threads, unsigned index)
{
	return all / threads + (index < all % threads);
}

static void start(const options *chosen, pthread_t *threads)
{
	pthread_barrier_init(&opened, NULL, chosen->threads + 1);
	pthread_barrier_init(&timed, NULL, chosen->threads + 1);
	for (unsigned at = 0; at < chosen->threads; at++) {
		client *const made = calloc(1, sizeof *made);
		if (made == NULL)
			fail("memory", strerror(errno));
		clients[at] = made;
		made->to = chosen->to;
		made->connections = share(chosen->connections, chosen->threads, at);
		made->inflight = share(chosen->inflight, chosen->threads, at);
		made->period_ns = chosen->rate > 0 ? 1e9 * chosen->threads / chosen->rate : 0;
		const int error = pthread_create(&threads[at], NULL, run, &clients[at]);
		if (error != 0)
			fail("thread", strerror(error));
	}
	pthread_barrier_wait(&opened);
	for (unsigned at = 0; at < chosen->threads; at++)
		if (failures[at] != 0)
			fail("cannot connect", strerror(failures[at]));
}

static void set_times(const options *chosen)
{
	const int64_t now = now_ns();
	for (unsigned at = 0; at < chosen->threads; at++) {
		client *const self = clients[at];
		const double offset = self->period_ns * at / chosen->threads;
		self->start_ns = now + (int64_t)offset;
		self->warm_ns = now + (int64_t)(chosen->warmup_s * 1e9);
		self->end_ns = self->warm_ns + (int64_t)(chosen->seconds * 1e9);
		self->drained_ns = self->end_ns + (int64_t)(chosen->drain_s * 1e9);
	}
	pthread_barrier_wait(&timed);
}

static void say_at(int64_t at_ns, const char *what)
{
	const struct timespec at = {.tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000};
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
	puts(what);
	fflush(stdout);
}

static void print(const options *chosen)
{
	client *const all = clients[0];
	for (unsigned at = 1; at < chosen->threads; at++) {
		const client *const one = clients[at];
		histogram_merge(&all->latency, &one->latency);
		histogram_merge(&all->lag, &one->lag);
		all->answered += one->answered;
		all->errors += one->errors;
		all->unanswered += one->unanswered;
		all->completed += one->completed;
	}
	printf("{\"completed\": %" PRIu64 ", \"seconds\": %.9g, \"answered\": %" PRIu64
	       ", \"errors\": %" PRIu64 ", \"unanswered\": %" PRIu64 ", \"latency\": ",
	       all->completed, chosen->seconds, all->answered, all->errors, all->unanswered);
	histogram_print(&all->latency);
	printf(", \"lag\": ");
	histogram_print(&all->lag);
	printf("}\n");
}

int main(int argc, char **argv)
{
	const options chosen = parse(argc, argv);
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	pthread_t threads[THREADS_MOST];
	start(&chosen, threads);
	set_times(&chosen);
	say_at(clients[0]->warm_ns, "measuring");
	say_at(clients[0]->end_ns, "measured");
	for (unsigned at = 0; at < chosen.threads; at++)
		pthread_join(threads[at], NULL);
	print(&chosen);
	for (unsigned at = 0; at < chosen.threads; at++)
		free(clients[at]);
	return 0;
}
