/* SPDX-License-Identifier: Apache-2.0
 * descriptor.c CASE - virtual threads that read and write, and the ways in which that ends. Prints
 * what is lost. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "io/descriptor_poller.h"
#include "descriptor_case.h"
#include "../case_main.h"

enum { ROUNDS = 3000 };

static int talks(void *arg)
{
	talk(arg);
	return 0;
}

CASE(pair)
{
	wp_io *ends[2];
	wp_vthread *echo, *talker;

	open_pair(ends);
	echo = start(echoes, ends[0]);
	talker = start(talks, ends[1]);
	join(talker, "who talks");
	join(echo, "who answers");
	close_group();
}

/* An OS thread calls as well. */
CASE(os_thread)
{
	wp_io *ends[2];
	wp_vthread *echo;

	open_pair(ends);
	echo = start(echoes, ends[0]);
	talk(ends[1]);
	join(echo, "who answers an OS thread");
	close_group();
}

static int reads_one(void *arg)
{
	size_t done;
	char byte;

	return wp_io_read(arg, &byte, 1, patience(), &done);
}

static int reads_shortly(void *arg)
{
	size_t done;
	char byte;

	return wp_io_read(arg, &byte, 1, in_ms(10), &done);
}

static void await_reader(wp_io *io)
{
	await_in_line(io, WP_IO_READ, 1, "who is to read");
}

/* The ways in which a wait may end; the next wait works. */
CASE(ends)
{
	wp_io *ends[2];
	wp_vthread *reader;

	open_pair(ends);
	check(join(start(reads_shortly, ends[0]), "a deadline") == WP_TIMEOUT, "a deadline");
	reader = start(reads_one, ends[0]);
	await_reader(ends[0]);
	wp_vthread_interrupt(reader);
	check(join(reader, "an interrupt") == WP_INTERRUPTED, "an interrupt");
	put(ends[1], "x", 1);
	check(join(start(reads_shortly, ends[0]), "a read") == WP_OK, "a read after these");
	reader = start(reads_one, ends[0]);
	await_reader(ends[0]);
	wp_io_free(ends[0]);
	check(join(reader, "a close") == WP_CLOSED, "a close");
	wp_io_free(ends[1]);
	close_group();
}

/* A stolen thread makes the descriptor, which belongs to the home of the thread. */
static int makes_one(void *arg)
{
	wp_io **ends = arg;
	bool is_away = wp_group_running(group) != wp_group_home(group);

	pair_of(ends);
	wp_store_release(&over, 1);
	return is_away;
}

CASE(stolen)
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
		check(ends[0]->poller == wp__io_poller_of(wp__group_home(group, 0)),
		      "that it is its home's");
		wp_io_free(ends[0]);
		wp_io_free(ends[1]);
	}
	check(stolen > 0, "that one was stolen");
	close_group();
}

/* Made, made ready and freed, while its poller holds events of it. */
static int churns(void *arg)
{
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

CASE(churn)
{
	wp_vthread *threads[4];

	open_io(2, true);
	for (int at = 0; at < 4; at++)
		threads[at] = start(churns, NULL);
	join_all(threads, 4, "who makes and frees");
	close_group();
}

CASE(refused)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fds[2];
	wp_io *io, *ends[2];
	size_t done;

	open_group(1, false, 0);
	check(wp_io_new(group, fd, &io) == WP_MISUSED, "that there is no poller");
	check(wp_io_start(group, 0) == WP_OK, "the pollers");
	check(wp_io_start(group, 0) == WP_ALREADY, "that they are started once");
	check(wp_io_new(group, fd, &io) == WP_UNSUPPORTED, "that files are refused");
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

/* A thread that sleeps beside the poller wakes in time, although no thread polls meanwhile. */
static int sleeps(void *arg)
{
	int64_t begin_ns = wp_clock_ns();

	check(wp_vthread_sleep_until(begin_ns + 20 * MS + 500000) == WP_OK, "a sleep");
	check(wp_clock_ns() >= begin_ns + 20 * MS + 500000, "that it sleeps so long");
	return 0;
}

#ifdef WITH_TIMERS
/* Counts how often the poller's timer is set. */
struct itimerspec;
int __real_timerfd_settime(int fd, int how, const struct itimerspec *new, struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int how, const struct itimerspec *new, struct itimerspec *old);
static wp_atomic(uint32_t) settings;

int __wrap_timerfd_settime(int fd, int how, const struct itimerspec *new, struct itimerspec *old)
{
	wp_fetch_add_relaxed(&settings, 1);
	return __real_timerfd_settime(fd, how, new, old);
}

enum { NEAR_NS = 800000, WAKES = 400 };

static wp_atomic(uint32_t) deadlines, has_ended;

static int sleeps_near(void *arg)
{
	while (wp_load_relaxed(&has_ended) == 0) {
		int64_t until_ns = wp_clock_ns() + NEAR_NS;

		check(wp_vthread_sleep_until(until_ns) == WP_OK, "a sleep");
		check(wp_clock_ns() >= until_ns, "that it sleeps so long");
		wp_fetch_add_relaxed(&deadlines, 1);
	}
	return 0;
}

static int does_nothing(void *arg)
{
	return 0;
}

/* A thread sleeps for less than a millisecond, again and again. Meanwhile its carrier is woken for
 * other threads, and sleeps again until the same deadline. The timer is set once for each deadline,
 * and not for each of these sleeps. Every deadline comes, also those that were set after one had
 * passed. */
CASE(near)
{
	wp_vthread *one;

	open_io(1, false);
	one = start(sleeps_near, NULL);
	for (int at = 0; at < WAKES; at++) {
		nanosleep(&(struct timespec){.tv_nsec = NEAR_NS / 20}, NULL);
		join(start(does_nothing, NULL), "who does nothing");
	}
	wp_store_relaxed(&has_ended, 1);
	join(one, "who sleeps");
	check(wp_load_relaxed(&settings) > 0, "that the timer is used");
	check(wp_load_relaxed(&settings) <= wp_load_relaxed(&deadlines) + WAKES / 2,
	      "that the timer stays set");
	close_group();
}
#endif

CASE(timers)
{
	uint64_t parks;

	open_io(1, false);
	for (int turn = 0; turn < 10; turn++)
		join(start(sleeps, NULL), "who sleeps");
	parks = wp_group_counts(group, 0).parks;
	check(parks < 200, "that nobody polls while all sleep");
	close_group();
}

/* Closed and freed after its group. */
CASE(late)
{
	wp_io *ends[2];

	open_pair(ends);
	put(ends[0], "x", 1);
	close_group();
	check(get(ends[1], &(char[1]){0}, 1) == 1, "what came before");
	wp_io_free(ends[0]);
	check(wp_io_close(ends[1]) == WP_OK, "a close without a group");
	wp_io_free(ends[1]);
}

/* An OS thread and a thread of another group wait while the group of the poller is closed. */
static void *waits_on(void *arg)
{
	static int code;

	code = reads_one(arg);
	return &code;
}

CASE(closed)
{
	wp_group_config alone = {.carriers = 1, .yield_us = 50};
	wp_vthread_config reads = {.run = reads_one, .name = "another group's"};
	wp_group *other;
	wp_vthread *reader;
	wp_io *ends[2], *late;
	pthread_t thread;
	void *told;
	int fds[2];

	open_pair(ends);
	check(wp_group_new(&other, &alone) == WP_OK, "another group");
	reads.arg = ends[1];
	check(wp_vthread_new(other, &reads, &reader) == WP_OK, "its thread");
	check(wp_vthread_start(reader) == WP_OK, "its start");
	await_reader(ends[1]);
	check(pthread_create(&thread, NULL, waits_on, ends[0]) == 0, "an OS thread");
	await_reader(ends[0]);
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	pthread_join(thread, &told);
	check(*(int *)told == WP_CLOSED, "that an OS thread is told");
	check(join(reader, "another group's") == WP_CLOSED, "that another group's thread is told");
	check(reads_one(ends[0]) == WP_CLOSED, "that nobody waits any more");
	check(pipe2(fds, O_CLOEXEC) == 0, "a pipe");
	check(wp_io_new(group, fds[0], &late) == WP_CLOSED, "that nothing is added any more");
	close(fds[0]);
	close(fds[1]);
	wp_io_free(ends[0]);
	wp_io_free(ends[1]);
	check(wp_group_close(other, patience(), false, NULL, NULL) == WP_OK, "the other close");
	wp_group_free(other);
	wp_group_free(group);
}

/* A thread of another group is first in the queue, and that group is closed. The thread behind it
 * reads the next bytes, and the descriptor is closed in the end. */
CASE(dies)
{
	wp_group_config alone = {.carriers = 1, .yield_us = 50};
	wp_vthread_config reads = {.run = reads_one, .name = "dies"};
	wp_group *other;
	wp_vthread *dying, *behind;
	wp_io *ends[2];
	int fd;

	open_pair(ends);
	fd = ends[0]->fd;
	check(wp_group_new(&other, &alone) == WP_OK, "another group");
	reads.arg = ends[0];
	check(wp_vthread_new(other, &reads, &dying) == WP_OK, "its thread");
	check(wp_vthread_start(dying) == WP_OK, "its start");
	await_reader(ends[0]);
	behind = start(reads_one, ends[0]);
	await_in_line(ends[0], WP_IO_READ, 2, "two that are to read");
	check(wp_group_close(other, patience(), true, NULL, NULL) == WP_OK, "the close");
	put(ends[1], "x", 1);
	check(join(behind, "who is behind") == WP_OK, "that who is behind reads");
	wp_io_free(ends[0]);
	check(fcntl(fd, F_GETFD) == -1 && errno == EBADF, "that it is closed in the end");
	wp_io_free(ends[1]);
	close_group();
	wp_group_free(other);
}

/* Finds nothing at first. Before that is returned, a byte comes, and the poller counts the edge. */
struct early {
	wp_io *io, *peer;
	bool has_come;
};

static int64_t reads_before_the_edge(int fd, void *arg)
{
	struct early *early = arg;
	wp_ready *direction = &early->io->ready[WP_IO_READ];
	int64_t deadline_ns = patience();
	uint32_t edges = wp_load_relaxed(&direction->edges);
	char byte;
	ssize_t result = read(fd, &byte, 1);
	int failed = errno;

	if (result >= 0 || early->has_come)
		return result;
	early->has_come = true;
	put(early->peer, "x", 1);
	while (wp_load_relaxed(&direction->edges) == edges)
		if (wp_clock_ns() > deadline_ns)
			lost("an edge");
	errno = failed;
	return result;
}

/* An edge comes between the attempt and the wait, so the thread tries once more. It is an OS
 * thread, so that the poller runs meanwhile. */
static void read_beside_the_edge(uint32_t edges)
{
	wp_io *ends[2];
	struct early early;
	int64_t result = 0;

	open_pair(ends);
	wp_store_relaxed(&ends[0]->ready[WP_IO_READ].edges, edges);
	early = (struct early){.io = ends[0], .peer = ends[1]};
	check(wp_io_call(ends[0], WP_IO_READ, reads_before_the_edge, &early, patience(), &result) ==
		      WP_OK,
	      "a read of what came after the attempt");
	check(result == 1, "that byte");
	check(wp_load_relaxed(&ends[0]->ready[WP_IO_READ].edges) - edges - WP_READY_EDGE <
		      2 * WP_READY_EDGE,
	      "an edge or two");
	close_pair(ends);
}

CASE_CALL(edge, read_beside_the_edge(0))
/* The same edge takes the count from 2^32 - 2 to 0. */
CASE_CALL(edge_wraps, read_beside_the_edge(UINT32_MAX - 1))

/* One event reports the end of the file, and all waiting threads must find it. */
CASE(end_of_file)
{
	enum { READERS = 4 };
	wp_vthread *readers[READERS];
	wp_io *ends[2];

	open_pair(ends);
	for (uint32_t index = 0; index < READERS; index++) {
		readers[index] = start(reads_one, ends[0]);
		await_in_line(ends[0], WP_IO_READ, index + 1, "who is to read the end");
	}
	check(shutdown(ends[1]->fd, SHUT_WR) == 0, "the end of the file");
	for (int index = 0; index < READERS; index++)
		check(join(readers[index], "who reads the end") == WP_OK, "that all read the end");
	close_pair(ends);
}

/* Streams: a read that does not fill its buffer empties a TCP socket, and the next one is left out. */

/* Opens a group of one carrier. The first end is a descriptor of the group, the other one is not. */
static int open_stream(wp_io **io)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	open_io(1, false);
	if (listener < 0 || peer < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
	    listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
	    connect(peer, (struct sockaddr *)&address, length) != 0 ||
	    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0)
		lost("a connection");
	*io = take(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	close(listener);
	check((*io)->is_stream, "that the connection is a stream");
	return peer;
}

static void close_stream(wp_io *io, int peer)
{
	wp_io_free(io);
	close(peer);
	close_group();
}

/* With room to spare, and without a deadline, which would hide a lost wakeup: it ends with a read. */
static size_t get_some(wp_io *io, char *bytes)
{
	size_t done;

	check(wp_io_read(io, bytes, 16, WP_FOREVER, &done) == WP_OK, "a read");
	return done;
}

static int reads_to_the_end(void *arg)
{
	char bytes[16];
	size_t size = 0, some;

	while ((some = get_some(arg, bytes)) != 0)
		size += some;
	return (int)size;
}

/* Waits until no more edges come. */
static void await_edges(wp_io *io)
{
	uint32_t edges = 0, now;

	while ((now = wp_ready_look(&io->ready[WP_IO_READ])) != edges || now == 0) {
		edges = now;
		usleep(20000);
	}
}

/* The last byte and the end of the stream come in one packet, so one event reports both. */
CASE(stream_end)
{
	wp_vthread *reader;
	wp_io *io;
	int peer = open_stream(&io);

	reader = start(reads_to_the_end, io);
	await_reader(io);
	check(send(peer, "abc", 3, MSG_MORE) == 3 && shutdown(peer, SHUT_WR) == 0, "the end");
	check(join(reader, "who reads to the end") == 3, "all bytes");
	close_stream(io, peer);
}

static int reads_around(void *arg)
{
	char bytes[16];

	check(get_some(arg, bytes) == 1 && bytes[0] == 'a', "what comes before the urgent byte");
	check(get_some(arg, bytes) == 1 && bytes[0] == 'c', "what comes after it");
	return 0;
}

/* A read ends before an urgent byte, although there is more. */
CASE(stream_urgent)
{
	wp_io *io;
	int peer = open_stream(&io);

	check(send(peer, "a", 1, 0) == 1 && send(peer, "b", 1, MSG_OOB) == 1 &&
		      send(peer, "c", 1, 0) == 1,
	      "an urgent byte");
	await_edges(io);
	join(start(reads_around, io), "who reads around an urgent byte");
	close_stream(io, peer);
}

struct uncounted {
	wp_io *io;
	int peer;
};

/* A read empties the socket, and then a byte comes. Its edge is not counted: the poller runs only when
 * this thread waits. */
static void byte_comes(const struct uncounted *stream)
{
	char bytes[16];

	check(send(stream->peer, "a", 1, 0) == 1, "a byte");
	check(get_some(stream->io, bytes) == 1, "that byte");
	check(send(stream->peer, "b", 1, 0) == 1, "the next byte");
}

/* Returns how the read ends. */
static int read_until(wp_io *io, int64_t deadline_ns, size_t *done)
{
	char bytes[16];

	return wp_io_read(io, bytes, sizeof(bytes), deadline_ns, done);
}

static void uncounted_stream(int (*reads)(void *arg), const char *what)
{
	struct uncounted stream;

	stream.peer = open_stream(&stream.io);
	join(start(reads, &stream), what);
	close_stream(stream.io, stream.peer);
}

static int reads_late(void *arg)
{
	struct uncounted *stream = arg;
	size_t done = 0;

	byte_comes(stream);
	check(read_until(stream->io, 0, &done) == WP_OK && done == 1,
	      "a read of what is there, after its deadline");
	check(read_until(stream->io, 0, &done) == WP_TIMEOUT, "no more");
	return 0;
}

CASE_CALL(stream_late, uncounted_stream(reads_late, "who reads after the deadline"))

/* An interrupt ends a wait, and a read of what is there need not wait. */
static int reads_interrupted(void *arg)
{
	struct uncounted *stream = arg;
	size_t done = 0;

	byte_comes(stream);
	wp_vthread_interrupt(wp_vthread_current());
	check(read_until(stream->io, WP_FOREVER, &done) == WP_OK && done == 1,
	      "a read of what is there");
	check(read_until(stream->io, WP_FOREVER, &done) == WP_INTERRUPTED, "an interrupt");
	return 0;
}

CASE_CALL(stream_interrupted, uncounted_stream(reads_interrupted, "who is interrupted"))

/* In a pinned section the thread would block the poller, which has yet to count the edge. */
static int reads_pinned(void *arg)
{
	struct uncounted *stream = arg;
	char bytes[16];

	byte_comes(stream);
	wp_vthread_pin();
	check(get_some(stream->io, bytes) == 1, "that byte, in a pinned section");
	wp_vthread_unpin();
	return 0;
}

CASE_CALL(stream_pinned, uncounted_stream(reads_pinned, "who reads in a pinned section"))

/* So would a thread without a stack. */
static struct uncounted of_stackless;

static enum wp_step reads_stackless(wp_task *task)
{
	char bytes[16];

	byte_comes(&of_stackless);
	check(get_some(of_stackless.io, bytes) == 1, "that byte, without a stack");
	return WP_STEP_DONE;
}

CASE(stream_stackless)
{
	wp_vthread_config config = {.step = reads_stackless, .name = "stackless"};
	wp_vthread *reader;

	of_stackless.peer = open_stream(&of_stackless.io);
	reader = new_as(&config);
	check(wp_vthread_start(reader) == WP_OK, "its start");
	join(reader, "who reads without a stack");
	close_stream(of_stackless.io, of_stackless.peer);
}

/* The carrier of the poller is busy, so it counts no edge. */
static int is_busy(void *arg)
{
	int64_t deadline_ns = patience();

	wp_store_release(&over, 1);
	while (wp_load_acquire(&over) == 1)
		if (wp_clock_ns() > deadline_ns)
			lost("a read beside a busy carrier");
	return 0;
}

static int reads_beside_busy(void *arg)
{
	struct uncounted *stream = arg;
	wp_vthread *busy;
	char bytes[16];

	check(send(stream->peer, "a", 1, 0) == 1, "a byte");
	check(get_some(stream->io, bytes) == 1, "that byte");
	wp_store_release(&over, 0);
	busy = start(is_busy, NULL);
	while (wp_load_acquire(&over) == 0)
		;
	check(send(stream->peer, "b", 1, 0) == 1, "the next byte");
	check(get_some(stream->io, bytes) == 1, "that byte, while the carrier is busy");
	wp_store_release(&over, 2);
	join(busy, "who was busy");
	return 0;
}

CASE(stream_busy)
{
	struct uncounted stream;

	stream.peer = open_stream(&stream.io);
	reads_beside_busy(&stream); /* an OS thread */
	close_stream(stream.io, stream.peer);
}

/* The reader belongs to another group, so another carrier runs it. */
CASE(stream_elsewhere)
{
	wp_group_config alone = {.carriers = 1, .yield_us = 50};
	struct uncounted stream;
	wp_vthread_config config = {.run = reads_beside_busy, .arg = &stream, .name = "elsewhere"};
	wp_group *other;
	wp_vthread *reader;

	stream.peer = open_stream(&stream.io);
	check(wp_group_new(&other, &alone) == WP_OK, "another group");
	check(wp_vthread_new(other, &config, &reader) == WP_OK, "its thread");
	check(wp_vthread_start(reader) == WP_OK, "its start");
	join(reader, "who reads on another carrier");
	check(wp_group_close(other, patience(), false, NULL, NULL) == WP_OK, "the other close");
	wp_group_free(other);
	close_stream(stream.io, stream.peer);
}

static int reads_on(void *arg)
{
	size_t done;
	char bytes[16];

	check(get_some(arg, bytes) == 1, "a byte");
	return read_until(arg, WP_FOREVER, &done);
}

CASE(stream_closed)
{
	wp_vthread *reader;
	wp_io *io;
	int peer = open_stream(&io);

	check(send(peer, "a", 1, 0) == 1, "a byte");
	await_edges(io);
	reader = start(reads_on, io);
	await_reader(io);
	wp_io_free(io);
	check(join(reader, "a close") == WP_CLOSED, "a close");
	close(peer);
	close_group();
}

/* A read that fills its buffer leaves the rest. */
static int reads_by_twos(void *arg)
{
	static const size_t sizes[] = {2, 2, 1};
	size_t done;
	char bytes[2];

	for (size_t at = 0; at < sizeof(sizes) / sizeof(*sizes); at++)
		check(wp_io_read(arg, bytes, sizeof(bytes), WP_FOREVER, &done) == WP_OK &&
			      done == sizes[at],
		      "two bytes, two, and the rest");
	return 0;
}

CASE(stream_full)
{
	wp_io *io;
	int peer = open_stream(&io);

	check(send(peer, "abcde", 5, 0) == 5, "five bytes");
	await_edges(io);
	join(start(reads_by_twos, io), "who reads by twos");
	close_stream(io, peer);
}

/* Sockets whose number of a protocol is that of TCP, and which have packets. */
CASE(stream_packets)
{
	wp_io *io;

	open_io(1, false);
	io = take(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM));
	check(!io->is_stream, "that packets are no stream");
	wp_io_free(io);
	close_group();
}

#ifdef WITH_READS
/* Counts the reads. */
ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
static wp_atomic(uint32_t) reads;

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	wp_fetch_add_relaxed(&reads, 1);
	return __real_read(fd, bytes, size);
}

static wp_atomic(uint32_t) messages;

static int reads_messages(void *arg)
{
	char bytes[16];

	while (get_some(arg, bytes) != 0)
		wp_fetch_add_relaxed(&messages, 1);
	return 0;
}

/* Waits until the reader has read so many messages, and waits for the next one. */
static void await_messages(wp_io *io, uint32_t many)
{
	int64_t deadline_ns = patience();

	while (wp_load_relaxed(&messages) != many)
		if (wp_clock_ns() > deadline_ns)
			lost("a message");
	await_reader(io);
}

static uint32_t reads_of(wp_io *io, int peer)
{
	wp_vthread *reader;

	wp_store_relaxed(&reads, 0);
	wp_store_relaxed(&messages, 0);
	reader = start(reads_messages, io);
	for (uint32_t message = 0; message < MESSAGES; message++) {
		await_messages(io, message);
		check(send(peer, "x", 1, 0) == 1, "a message");
	}
	await_messages(io, MESSAGES);
	shutdown(peer, SHUT_WR);
	join(reader, "who reads each message");
	return wp_load_relaxed(&reads);
}

/* Prints how often a thread reads from a TCP socket, and from another kind of socket. */
CASE(stream_reads)
{
	wp_io *io;
	int peer = open_stream(&io), pair[2];
	uint32_t of_tcp = reads_of(io, peer);

	wp_io_free(io);
	close(peer);
	check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "a pair");
	io = take(pair[0]);
	check(!io->is_stream, "that it is no stream");
	printf("%u %u\n", of_tcp, reads_of(io, pair[1]));
	close_stream(io, pair[1]);
}
#endif

/* The counters of the poller: each wakeup ends a sleep. */
static int comes(void *arg)
{
	return 0;
}

CASE(counts)
{
	wp_io *ends[2];
	wp_poll_counts now;
	int64_t deadline_ns = patience();

	open_pair(ends);
	do {
		join(start(comes, NULL), "one that comes");
		now = wp_io_counts(group, 0);
		/* The poller announces a sleep before it counts it, and may be woken in between. */
		check(now.wakeups <= now.sleeps + 1, "a sleep for each wakeup");
		if (wp_clock_ns() > deadline_ns)
			lost("wakeups");
	} while (now.wakeups < ROUNDS && failures == 0);
	put(ends[0], "x", 1);
	check(join(start(reads_one, ends[1]), "a read") == WP_OK, "a read");
	now = wp_io_counts(group, 0);
	check(now.looks > 0 && now.events > 0, "looks and events");
	close_pair(ends);
}

/* Two threads that yield for ever do not delay an event. */
static int yields_on(void *arg)
{
	while (wp_load_acquire(&over) == 0)
		wp_vthread_yield();
	return 0;
}

CASE(beside)
{
	wp_vthread *yielders[2], *reader;
	wp_io *ends[2];

	open_pair(ends);
	wp_store_release(&over, 0);
	for (int index = 0; index < 2; index++)
		yielders[index] = start(yields_on, NULL);
	reader = start(reads_one, ends[0]);
	await_reader(ends[0]);
	put(ends[1], "x", 1);
	check(join(reader, "a read beside two that yield") == WP_OK, "a read");
	wp_store_release(&over, 1);
	join_all(yielders, 2, "who yields");
	close_pair(ends);
}
