/* SPDX-License-Identifier: Apache-2.0
 * shapes.c - loads of whole programs, beside other schedulers.
 *
 *   shapes_hash_1, _3   one to three submitters start 128 threads that each hash 4 KB, and join
 *                       them; on two carriers that may steal
 *   shapes_answer       an OS thread that spins starts a thread for each of 200,000 requests a
 *                       second; the thread sleeps 100 us, and answers; one carrier,
 *                       on the CPU beside the producer's, with a poller (as servers have) or not
 *   shapes_executes     a thread starts another, is busy for 10 us, and starts another, 100 times;
 *                       then it joins all; two carriers that may steal
 *   shapes_nest_1k, _100k   a thread starts the next one, so many deep; two carriers that may steal
 *
 * CPU time of the process. That of the producer which spins, and the time for which a thread is
 * busy, are not counted. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "io/descriptor.h"
#include "threads.h"

enum {
	SUBMITTERS = 3,
	HASHERS = 128,
	HASHED = 4096,
	EACH_NS = 5000, /* from one request to the next */
	SLEEP_NS = 100000,
	SLACK_NS = 50000, /* of a timeout, in Linux */
	BUSY_NS = 10000,
	TIMES = 100,
	REQUESTS = 200000
};

static unsigned char hashed[SUBMITTERS][HASHERS][HASHED];
static uint64_t rounds;
static wp_atomic(uint64_t) hashes;

static int hashes_one(void *arg)
{
	const unsigned char *bytes = arg;
	uint64_t hash = 14695981039346656037u;

	for (int at = 0; at < HASHED; at++)
		hash = (hash ^ bytes[at]) * 1099511628211u;
	wp_fetch_add_relaxed(&hashes, hash);
	return 0;
}

static int submits(void *arg)
{
	unsigned char(*mine)[HASHED] = arg;
	wp_vthread *all[HASHERS];

	for (uint64_t round = 0; round < rounds; round++) {
		for (int at = 0; at < HASHERS; at++) {
			all[at] = threads_new(carriers_of_two(true), WP_VTHREAD_HERE, hashes_one,
					      mine[at]);
			threads_start(all[at]);
		}
		for (int at = 0; at < HASHERS; at++)
			threads_join(all[at]);
	}
	return 0;
}

static double hash(int submitters, uint64_t ops)
{
	wp_vthread *all[SUBMITTERS];
	uint64_t each = (uint64_t)submitters * HASHERS;
	double begun = carriers_process_ns();

	rounds = (ops + each - 1) / each;
	for (int at = 0; at < submitters; at++) {
		all[at] = threads_new(carriers_of_two(true), at % 2, submits, hashed[at]);
		threads_start(all[at]);
	}
	for (int at = 0; at < submitters; at++)
		threads_join(all[at]);
	return (carriers_process_ns() - begun) * (double)ops / (double)(rounds * each);
}

BENCH_SIDE(hash_of_one, hash(1, ops))
BENCH_SIDE(hash_of_three, hash(SUBMITTERS, ops))

/* A thread that nobody joins. */
static void starts(wp_group *group, int carrier, int (*run)(void *), void *arg)
{
	wp_vthread *thread = threads_new(group, carrier, run, arg);

	threads_start(thread);
	wp_vthread_free(thread);
}

static void bind_beside(void *arg, uint32_t index)
{
	(void)arg;
	bench_pin((int)index + 1); /* the producer has the first CPU */
}

static wp_group *beside_producer(bool has_poller)
{
	static wp_group *made[2];
	wp_group_config config = {.carriers = 1, .bind = bind_beside};

	if (made[has_poller] == NULL && (wp_group_new(&made[has_poller], &config) != WP_OK ||
					 (has_poller && wp_io_start(made[has_poller], 0) != WP_OK)))
		bench_fail("no memory, no threads, or no poller");
	return made[has_poller];
}

static uint64_t awaited;
static wp_atomic(uint64_t) answered;
static double due[REQUESTS], took_us[REQUESTS], p50, p90, p99;

static int answers(void *arg)
{
	double *mine = arg;

	wp_vthread_park_until((int64_t)wp_clock_ns() + SLEEP_NS);
	took_us[mine - due] = (bench_clock_ns() - *mine) / 1e3;
	if (wp_fetch_add_relaxed(&answered, 1) + 1 == awaited) /* on the only carrier */
		carriers_count(&carriers_ended);
	return 0;
}

static double answer(bool has_poller, uint64_t ops)
{
	uint64_t many = ops < REQUESTS ? ops : REQUESTS;
	wp_group *group = beside_producer(has_poller);
	double begun, spun, next, ns;

	awaited = many;
	wp_init(&answered, 0);
	wp_init(&carriers_ended, 0);
	bench_pin(0);
	begun = carriers_process_ns();
	spun = bench_cpu_ns();
	next = bench_clock_ns();
	for (uint64_t at = 0; at < many; at++) {
		next += EACH_NS;
		while (bench_clock_ns() < next)
			wp_pause();
		due[at] = next;
		starts(group, 0, answers, &due[at]);
	}
	spun = bench_cpu_ns() - spun;
	carriers_await(&carriers_ended, 1);
	ns = carriers_process_ns() - begun - spun;
	bench_float();
	p99 = bench_p99(took_us, many);
	p90 = took_us[many * 90 / 100];
	p50 = took_us[many / 2];
	return ns * (double)ops / (double)many;
}

BENCH_SIDE(answer_by_poller, answer(true, ops))
BENCH_SIDE(answer_alone, answer(false, ops))

/* The limit: an OS thread with an event loop written for this, which sleeps in epoll until the
 * producer rings or its timer fires, as late as ours. The deadlines are in the order of the
 * requests. */
static struct {
	int epoll, bell, timer;
	uint64_t many;
} bare = {-1, -1, -1, 0};

static double bare_ns;

static void ring(void)
{
	uint64_t one = 1;

	if (write(bare.bell, &one, sizeof(one)) != sizeof(one))
		bench_fail("an eventfd refuses a number");
}

/* Sets the timer, unless it will fire in time. Returns for when it is set. */
static double set_timer(double set_for, double deadline, double now)
{
	int64_t at = (int64_t)(deadline + SLACK_NS);
	struct itimerspec once = {.it_value = {at / 1000000000, at % 1000000000}};

	if (set_for > now && set_for <= deadline + SLACK_NS)
		return set_for;
	timerfd_settime(bare.timer, TFD_TIMER_ABSTIME, &once, NULL);
	return deadline + SLACK_NS;
}

static void *bare_loop(void *unused)
{
	uint64_t begun = 0, ended = 0;
	double cpu_ns, set_for = 0;

	(void)unused;
	bench_pin(1);
	cpu_ns = bench_cpu_ns();
	while (ended < bare.many) {
		struct epoll_event events[2];
		double now = bench_clock_ns();
		int count;

		for (; ended < begun && due[ended] <= now; ended++)
			took_us[ended] = now / 1e3;
		if (ended < begun)
			set_for = set_timer(set_for, due[ended], now);
		count = ended < bare.many ? epoll_wait(bare.epoll, events, 2, -1) : 0;
		now = bench_clock_ns() + SLEEP_NS;
		for (int at = 0; at < count; at++) {
			uint64_t more = 0;

			if (read(events[at].data.fd, &more, sizeof(more)) < 0)
				bench_fail("an event of nothing");
			for (; events[at].data.fd == bare.bell && more > 0; more--)
				due[begun++] = now;
		}
	}
	bare_ns = bench_cpu_ns() - cpu_ns;
	return NULL;
}

static double answer_bare(uint64_t ops)
{
	struct epoll_event bell = {.events = EPOLLIN}, timer = {.events = EPOLLIN};
	pthread_t thread;
	double next;

	if (bare.epoll < 0) {
		bare.epoll = epoll_create1(EPOLL_CLOEXEC);
		bare.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		bare.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		bell.data.fd = bare.bell;
		timer.data.fd = bare.timer;
		if (epoll_ctl(bare.epoll, EPOLL_CTL_ADD, bare.bell, &bell) != 0 ||
		    epoll_ctl(bare.epoll, EPOLL_CTL_ADD, bare.timer, &timer) != 0)
			bench_fail("no descriptors");
	}
	bare.many = ops < REQUESTS ? ops : REQUESTS;
	bench_pin(0);
	if (pthread_create(&thread, NULL, bare_loop, NULL) != 0)
		bench_fail("no thread");
	next = bench_clock_ns();
	for (uint64_t at = 0; at < bare.many; at++) {
		next += EACH_NS;
		while (bench_clock_ns() < next)
			wp_pause();
		ring();
	}
	pthread_join(thread, NULL);
	bench_float();
	return bare_ns * (double)ops / (double)bare.many;
}

static double busy_ns;

static void is_busy(void)
{
	double begun = bench_cpu_ns(), now;

	do
		now = bench_cpu_ns();
	while (now - begun < BUSY_NS);
	busy_ns += now - begun;
}

static int does_nothing(void *arg)
{
	return arg != NULL;
}

static int executes(void *arg)
{
	wp_vthread *all[2 * TIMES];

	for (uint64_t round = 0; round < rounds; round++) {
		for (int at = 0; at < 2 * TIMES; at++) {
			if (at % 2 != 0)
				is_busy();
			all[at] = threads_new(carriers_of_two(true), WP_VTHREAD_HERE, does_nothing,
					      NULL);
			threads_start(all[at]);
		}
		for (int at = 0; at < 2 * TIMES; at++)
			threads_join(all[at]);
	}
	return arg != NULL;
}

static double execute(uint64_t ops)
{
	double begun = carriers_process_ns();
	wp_vthread *thread;

	rounds = (ops + 2 * TIMES - 1) / (2 * TIMES);
	busy_ns = 0;
	thread = threads_new(carriers_of_two(true), 0, executes, NULL);
	threads_start(thread);
	threads_join(thread);
	return (carriers_process_ns() - begun - busy_ns) * (double)ops /
	       (double)(rounds * 2 * TIMES);
}

static uint64_t depth;

static int nests(void *arg)
{
	uint64_t left = (uint64_t)(uintptr_t)arg;

	if (left > 1)
		starts(carriers_of_two(true), WP_VTHREAD_HERE, nests,
		       (void *)(uintptr_t)(left - 1));
	else
		carriers_count(&carriers_ended);
	return 0;
}

static double nest(uint64_t deep, uint64_t ops)
{
	uint64_t chains = (ops + deep - 1) / deep;
	double begun = carriers_process_ns();

	depth = deep;
	for (uint64_t at = 0; at < chains; at++) {
		wp_init(&carriers_ended, 0);
		starts(carriers_of_two(true), 0, nests, (void *)(uintptr_t)depth);
		carriers_await(&carriers_ended, 1);
	}
	return (carriers_process_ns() - begun) * (double)ops / (double)(chains * deep);
}

BENCH_SIDE(nest_1k, nest(1000, ops))
BENCH_SIDE(nest_100k, nest(100000, ops))

const bench_row bench_shapes[] = {
	{.name = "shapes_hash_1", .sides = {{"ours", hash_of_one}}},
	{.name = "shapes_hash_3", .sides = {{"ours", hash_of_three}}},
	{.name = "shapes_answer",
	 .sides = {{"ours", answer_by_poller}, {"alone", answer_alone}, {"bare", answer_bare}},
	 .counts = {{"p50", &p50}, {"p90", &p90}, {"p99", &p99}}},
	{.name = "shapes_executes", .sides = {{"ours", execute}}},
	{.name = "shapes_nest_1k", .sides = {{"ours", nest_1k}}},
	{.name = "shapes_nest_100k", .sides = {{"ours", nest_100k}}},
	{.name = NULL},
};
