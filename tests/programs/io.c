/* SPDX-License-Identifier: Apache-2.0
 * io.c CASE - virtual threads that read, write, accept and connect. Prints what is lost. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <unistd.h>

#include "io.h"
#include "vthreads_case.h"
#include "worker.h"

enum { MESSAGES = 100, CLIENTS = 200, ACCEPTORS = 4, ROUNDS = 3000 };

static void open_io(uint32_t carriers, bool stealing)
{
	open_group(carriers, stealing, 0);
	check(wp_io_start(group, 0) == WP_OK, "the pollers");
}

static wp_io *take(int fd)
{
	wp_io *io = NULL;

	if (fd < 0 || wp_io_new(group, fd, &io) != WP_OK)
		lost("a descriptor");
	return io;
}

static void pair_of(wp_io *ends[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		lost("a pair of sockets");
	ends[0] = take(fds[0]);
	ends[1] = take(fds[1]);
}

static int64_t patience(void)
{
	return in_ms(PATIENCE_S * 1000);
}

/* Gives what it reads, at most. */
static size_t get(wp_io *io, void *bytes, size_t size)
{
	size_t done;

	check(wp_io_read(io, bytes, size, patience(), &done) == WP_OK, "a read");
	return done;
}

static void put(wp_io *io, const void *bytes, size_t size)
{
	size_t done;

	check(wp_io_write(io, bytes, size, patience(), &done) == WP_OK && done == size, "a write");
}

/* Sends back what comes, until the end. */
static int echoes(void *arg)
{
	wp_io *io = arg;
	char bytes[256];
	size_t size;

	while ((size = get(io, bytes, sizeof(bytes))) != 0)
		put(io, bytes, size);
	wp_io_free(io);
	return 0;
}

static void talk(wp_io *io)
{
	for (uint32_t message = 0; message < MESSAGES; message++) {
		uint32_t answer = ~message;

		put(io, &message, sizeof(message));
		for (size_t at = 0; at < sizeof(answer);) {
			size_t size = get(io, (char *)&answer + at, sizeof(answer) - at);

			if (size == 0)
				lost("an answer");
			at += size;
		}
		check(answer == message, "what was sent");
	}
	wp_io_free(io);
}

static int talks(void *arg)
{
	talk(arg);
	return 0;
}

static void case_pair(void)
{
	wp_io *ends[2];
	wp_vthread *echo, *talker;

	open_io(1, false);
	pair_of(ends);
	echo = start(echoes, ends[0]);
	talker = start(talks, ends[1]);
	join(talker, "who talks");
	join(echo, "who answers");
	close_group();
}

/* An OS thread calls as well. */
static void case_os_thread(void)
{
	wp_io *ends[2];
	wp_vthread *echo;

	open_io(1, false);
	pair_of(ends);
	echo = start(echoes, ends[0]);
	talk(ends[1]);
	join(echo, "who answers an OS thread");
	close_group();
}

static struct sockaddr_in address;
static wp_io *listener;

static void listen_here(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(address);

	address = (struct sockaddr_in){.sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
	    listen(fd, CLIENTS) != 0 || getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		lost("a socket that listens");
	listener = take(fd);
}

static wp_io *connect_there(void)
{
	wp_io *io = take(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	if (wp_io_connect(io, (struct sockaddr *)&address, sizeof(address), patience()) != WP_OK)
		lost("a connection");
	return io;
}

static int connects(void *arg)
{
	(void)arg;
	talk(connect_there());
	return 0;
}

/* Until the listener is closed. */
static int accepts(void *arg)
{
	int fd;

	(void)arg;
	while (wp_io_accept(listener, patience(), &fd) == WP_OK)
		wp_vthread_free(start(echoes, take(fd)));
	return 0;
}

static void serve(uint32_t carriers, bool stealing)
{
	wp_vthread *acceptors[ACCEPTORS], *clients[CLIENTS];

	open_io(carriers, stealing);
	listen_here();
	for (int at = 0; at < ACCEPTORS; at++)
		acceptors[at] = start(accepts, NULL);
	for (int at = 0; at < CLIENTS; at++)
		clients[at] = start(connects, NULL);
	for (int at = 0; at < CLIENTS; at++)
		join(clients[at], "a client");
	check(wp_io_close(listener) == WP_OK, "the first close");
	check(wp_io_close(listener) == WP_CLOSED, "that the second one is told");
	for (int at = 0; at < ACCEPTORS; at++)
		join(acceptors[at], "who accepts, when it is closed");
	wp_io_free(listener);
	close_group();
}

static void case_server(void)
{
	serve(1, false);
	serve(2, false);
	serve(2, true);
}

static int reads_one(void *arg)
{
	size_t done;
	char byte;

	wp_fetch_add_release(&count, 1);
	return wp_io_read(arg, &byte, 1, patience(), &done);
}

static int reads_shortly(void *arg)
{
	size_t done;
	char byte;

	return wp_io_read(arg, &byte, 1, in_ms(10), &done);
}

/* How a wait may end, and that the next one works. */
static void case_ends(void)
{
	wp_io *ends[2];
	wp_vthread *reader;

	open_io(1, false);
	pair_of(ends);
	check(join(start(reads_shortly, ends[0]), "a deadline") == WP_TIMEOUT, "a deadline");
	reader = start(reads_one, ends[0]);
	await(&count, 1);
	wp_vthread_interrupt(reader);
	check(join(reader, "an interrupt") == WP_INTERRUPTED, "an interrupt");
	put(ends[1], "x", 1);
	check(join(start(reads_shortly, ends[0]), "a read") == WP_OK, "a read after these");
	reader = start(reads_one, ends[0]);
	await(&count, 2);
	wp_io_free(ends[0]);
	check(join(reader, "a close") == WP_CLOSED, "a close");
	wp_io_free(ends[1]);
	close_group();
}

/* A stolen thread makes it: it is its home's. */
static wp_atomic(uint32_t) over;

static int waits_for_it(void *arg)
{
	(void)arg;
	while (wp_load_acquire(&over) == 0)
		wp_yield();
	return 0;
}

static int makes_one(void *arg)
{
	wp_io **ends = arg;
	bool is_away = wp_group_running(group) != wp_group_home(group);

	pair_of(ends);
	wp_store_release(&over, 1);
	return is_away;
}

static void case_stolen(void)
{
	int stolen = 0;

	open_io(2, true);
	for (int turn = 0; turn < 100; turn++) {
		wp_vthread_config config = {.run = waits_for_it, .name = "long"};
		wp_vthread *first, *second;
		wp_io *ends[2];

		wp_store_release(&over, 0);
		first = start_as(&config);
		config.run = makes_one;
		config.arg = ends;
		second = start_as(&config);
		stolen += join(second, "who is behind a long one");
		join(first, "a long one");
		check(ends[0]->epoll == group->workers[0].epoll, "that it is its home's");
		wp_io_free(ends[0]);
		wp_io_free(ends[1]);
	}
	check(stolen > 0, "that one was stolen");
	close_group();
}

/* Made, made ready and freed, while its poller holds events of it. */
static int churns(void *arg)
{
	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		wp_io *ends[2];

		pair_of(ends);
		put(ends[0], "x", 1);
		if (round % 2 == 0)
			wp_vthread_yield();
		wp_io_free(ends[1]);
		wp_io_free(ends[0]);
	}
	return 0;
}

static void case_churn(void)
{
	wp_vthread *threads[4];

	open_io(2, true);
	for (int at = 0; at < 4; at++)
		threads[at] = start(churns, NULL);
	for (int at = 0; at < 4; at++)
		join(threads[at], "who makes and frees");
	close_group();
}

static void case_refused(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fds[2];
	wp_io *io, *ends[2];
	size_t done;

	open_group(1, false, 0);
	check(wp_io_new(group, fd, &io) == WP_MISUSED, "that there is no poller");
	check(wp_io_start(group, 0) == WP_OK, "the pollers");
	check(wp_io_start(group, 0) == WP_AGAIN, "that they are started once");
	check(wp_io_new(group, fd, &io) == WP_UNSUPPORTED, "that epoll refuses files");
	close(fd);
	check(wp_io_new(group, fd, &io) == WP_SYSTEM && errno == EBADF, "what is closed");
	pair_of(ends);
	wp_io_free(ends[1]);
	check(wp_io_write(ends[0], "x", 1, patience(), &done) == WP_SYSTEM && errno == EPIPE,
	      "a broken pipe");
	wp_io_free(ends[0]);
	check(pipe2(fds, O_CLOEXEC) == 0, "a pipe");
	ends[0] = take(fds[0]);
	ends[1] = take(fds[1]);
	put(ends[1], "xy", 2);
	check(get(ends[0], &(char[2]){0}, 2) == 2, "what went through a pipe");
	wp_io_free(ends[1]);
	check(get(ends[0], &(char[2]){0}, 2) == 0, "the end of a pipe");
	wp_io_free(ends[0]);
	close_group();
}

/* No descriptor is left: accept says so, and goes on when there is one. */
static int accepts_one(void *arg)
{
	int fd = -1, code = wp_io_accept(listener, patience(), &fd);

	(void)arg;
	if (code == WP_OK)
		wp_io_free(take(fd));
	return code == WP_SYSTEM ? errno : code;
}

static void case_exhausted(void)
{
	struct rlimit before, few;
	wp_io *client;

	open_io(1, false);
	listen_here();
	getrlimit(RLIMIT_NOFILE, &before);
	client = connect_there();
	few = before;
	few.rlim_cur = (rlim_t)client->fd + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	check(join(start(accepts_one, NULL), "an accept") == EMFILE, "that none is left");
	setrlimit(RLIMIT_NOFILE, &before);
	check(join(start(accepts_one, NULL), "an accept") == WP_OK, "the next one");
	wp_io_free(client);
	wp_io_free(listener);
	close_group();
}

/* Closed and freed when its group is gone. */
static void case_late(void)
{
	wp_io *ends[2];

	open_io(1, false);
	pair_of(ends);
	put(ends[0], "x", 1);
	close_group();
	check(get(ends[1], &(char[1]){0}, 1) == 1, "what came before");
	wp_io_free(ends[0]);
	check(wp_io_close(ends[1]) == WP_OK, "a close without a group");
	wp_io_free(ends[1]);
}

int main(int argc, char **argv)
{
	static const one_case cases[] = {
		{"pair", case_pair}, {"os_thread", case_os_thread}, {"server", case_server},
		{"ends", case_ends}, {"stolen", case_stolen}, {"churn", case_churn},
		{"refused", case_refused}, {"exhausted", case_exhausted},
		{"late", case_late}};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
