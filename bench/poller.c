/* SPDX-License-Identifier: Apache-2.0
 * poller.c - the cost of a poller: a message and its reply through a pair of sockets, a look that
 * finds nothing, and a start on a carrier that sleeps in its poller.
 *
 * CPU time of the process, for the work of one carrier. `bare` writes and reads the same bytes and
 * never waits. `epoll` is a loop as one would write it by hand, which reads only from descriptors
 * with an event. */
#define _GNU_SOURCE
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/descriptor.h"
#include "sched/poller.h"
#include "threads.h"

static int fds[2];
static wp_io *ends[2];
static uint64_t turns;
static double took_ns;

static void open_pair(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
		bench_fail("no sockets");
}

static void send_byte(int fd)
{
	if (write(fd, "x", 1) != 1)
		bench_fail("a write failed");
}

static bool receives_byte(int fd)
{
	return read(fd, &(char){0}, 1) == 1;
}

/* A group of one carrier, with a poller. The first call makes it. */
static wp_group *polling(void)
{
	static wp_group *made;
	wp_group_config config = {.carriers = 1, .yield_us = 50};

	if (made == NULL &&
	    (wp_group_new(&made, &config) != WP_OK || wp_io_start(made, 0) != WP_OK))
		bench_fail("no group with a poller");
	return made;
}

static void receive(wp_io *io)
{
	size_t done;

	if (wp_io_read(io, &(char){0}, 1, WP_FOREVER, &done) != WP_OK || done != 1)
		bench_fail("a read failed");
}

static void say(wp_io *io)
{
	size_t done;

	if (wp_io_write(io, "x", 1, WP_FOREVER, &done) != WP_OK)
		bench_fail("a write failed");
}

static int answers(void *arg)
{
	for (uint64_t k = 0; k < turns; k++) {
		receive(ends[1]);
		say(ends[1]);
	}
	return arg != NULL;
}

static int asks(void *arg)
{
	double begun = carriers_process_ns();

	for (uint64_t k = 0; k < turns; k++) {
		say(ends[0]);
		receive(ends[0]);
	}
	took_ns = carriers_process_ns() - begun;
	return arg != NULL;
}

static double ours(uint64_t ops)
{
	wp_vthread *threads[2];

	open_pair();
	for (int at = 0; at < 2; at++)
		if (wp_io_new(polling(), fds[at], &ends[at]) != WP_OK)
			bench_fail("no descriptor");
	turns = ops;
	threads[0] = threads_new(polling(), 0, answers, NULL);
	threads[1] = threads_new(polling(), 0, asks, NULL);
	for (int at = 0; at < 2; at++)
		threads_start(threads[at]);
	for (int at = 0; at < 2; at++)
		threads_join(threads[at]);
	for (int at = 0; at < 2; at++)
		wp_io_free(ends[at]);
	return took_ns;
}

static void close_pair(void)
{
	close(fds[0]);
	close(fds[1]);
}

static double by_hand(uint64_t ops)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	double begun;

	open_pair();
	for (int at = 0; at < 2; at++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fds[at]};

		if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fds[at], &event) != 0)
			bench_fail("no epoll");
	}
	begun = carriers_process_ns();
	send_byte(fds[0]);
	for (uint64_t k = 0; k < 2 * ops; k++) {
		struct epoll_event event;

		if (epoll_wait(epoll, &event, 1, -1) != 1 || !receives_byte(event.data.fd))
			bench_fail("an event without a message");
		if (k + 1 < 2 * ops)
			send_byte(event.data.fd);
	}
	begun = carriers_process_ns() - begun;
	close_pair();
	close(epoll);
	return begun;
}

static double bare(uint64_t ops)
{
	double begun;

	open_pair();
	begun = carriers_process_ns();
	for (uint64_t k = 0; k < 2 * ops; k++) {
		send_byte(fds[k % 2]);
		if (!receives_byte(fds[1 - k % 2]))
			bench_fail("a message is lost");
	}
	begun = carriers_process_ns() - begun;
	close_pair();
	return begun;
}

/* One turn of a poller that spins: `idle_spins` looks. */
static int looks(void *arg)
{
	int *epoll = arg;
	double begun = carriers_process_ns();

	for (uint64_t k = 0; k < turns; k++) {
		epoll_wait(*epoll, &(struct epoll_event){0}, 1, 0);
		wp_poller_maybe_yield(false);
	}
	took_ns = carriers_process_ns() - begun;
	return 0;
}

static void wake_nobody(void *arg)
{
	(void)arg;
}

static double look(uint64_t ops)
{
	static int epoll = -1;
	wp_poller_config config = {.run = looks, .wakeup = wake_nobody, .arg = &epoll};
	wp_vthread *thread;
	int code;

	if (epoll < 0)
		epoll = epoll_create1(EPOLL_CLOEXEC);
	turns = ops;
	code = wp_poller_register(carriers_of_one(), 0, &config, &thread);
	if (epoll < 0 || code != WP_OK)
		bench_fail("no poller");
	threads_join(thread);
	return took_ns;
}

static double call(uint64_t ops)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	double begun = carriers_process_ns();

	for (uint64_t k = 0; k < ops; k++)
		epoll_wait(epoll, &(struct epoll_event){0}, 1, 0);
	begun = carriers_process_ns() - begun;
	close(epoll);
	return begun;
}

static enum wp_step step(wp_task *task)
{
	(void)task;
	return WP_STEP_DONE;
}

/* The carrier sleeps whenever a task is started. */
static double start_on(wp_group *group, uint64_t ops)
{
	static wp_task task;
	double begun = bench_clock_ns();

	for (uint64_t k = 0; k < ops; k++) {
		wp_init(&carriers_ended, 0);
		wp_task_init(&task, step, NULL);
		task.ended = carriers_count_end;
		carriers_start(group, 0, &task);
		carriers_await(&carriers_ended, 1);
	}
	return bench_clock_ns() - begun;
}

BENCH_SIDE(in_poller, start_on(polling(), ops))
BENCH_SIDE(in_futex, start_on(carriers_of_one(), ops))

const bench_row bench_poller[] = {
	{.name = "poller_pair", .sides = {{"ours", ours}, {"epoll", by_hand}, {"bare", bare}}},
	{.name = "poller_look", .sides = {{"ours", look}, {"call", call}}},
	{.name = "poller_start", .sides = {{"ours", in_poller}, {"futex", in_futex}}},
	{.name = NULL}};
