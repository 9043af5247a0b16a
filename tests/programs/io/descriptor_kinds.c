/* SPDX-License-Identifier: Apache-2.0
 * descriptor_kinds.c CASE - the caller's own calls on a descriptor: datagrams, and the end of a
 * child; and a connection to a unix-domain socket with a full queue. Prints what is lost. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptor_case.h"
#include "../case_main.h"

static struct sockaddr_in address_of(wp_io *io)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	check(getsockname(io->fd, (struct sockaddr *)&address, &length) == 0, "an address");
	return address;
}

static wp_io *udp(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) != 0)
		lost("a socket for datagrams");
	return take(fd);
}

static int64_t receive(int fd, void *message)
{
	return recvmsg(fd, message, 0);
}

static int64_t send_to(int fd, void *message)
{
	return sendmsg(fd, message, MSG_NOSIGNAL);
}

/* Returns its size. */
static size_t datagram(wp_io *io, enum wp_io_side side, struct sockaddr_in *peer, uint32_t *number)
{
	struct iovec part = {number, sizeof(*number)};
	struct msghdr message = {
		.msg_name = peer, .msg_namelen = sizeof(*peer), .msg_iov = &part, .msg_iovlen = 1};
	int64_t size = 0;

	check(wp_io_call(io, side, side == WP_IO_READ ? receive : send_to, &message, patience(),
			 &size) == WP_OK,
	      "a datagram");
	return (size_t)size;
}

/* Sends each datagram back to its sender; the last one is 0. */
static int answers(void *arg)
{
	struct sockaddr_in peer;
	uint32_t number;

	do {
		check(datagram(arg, WP_IO_READ, &peer, &number) == sizeof(number), "its size");
		datagram(arg, WP_IO_WRITE, &peer, &number);
	} while (number != 0);
	wp_io_free(arg);
	return 0;
}

static int asks(void *arg)
{
	struct sockaddr_in there = address_of(arg), from;
	wp_io *mine = udp();

	for (uint32_t number = MESSAGES; number-- != 0;) {
		uint32_t answer = ~number;

		datagram(mine, WP_IO_WRITE, &there, &number);
		datagram(mine, WP_IO_READ, &from, &answer);
		check(answer == number && from.sin_port == there.sin_port, "the answer");
	}
	wp_io_free(mine);
	return 0;
}

CASE(udp)
{
	wp_vthread *one, *other;
	wp_io *there;

	open_io(2, true);
	there = udp();
	one = start(asks, there);
	other = start(answers, there);
	join(one, "who asks");
	join(other, "who answers");
	close_group();
}

/* EAGAIN: the child runs. */
static int64_t has_ended(int fd, void *arg)
{
	siginfo_t *info = arg;

	info->si_pid = 0;
	if (waitid(P_PIDFD, (id_t)fd, info, WEXITED | WNOHANG) != 0)
		return -1;
	errno = EAGAIN;
	return info->si_pid == 0 ? -1 : 0;
}

static int waits_for_child(void *arg)
{
	siginfo_t info;
	int64_t result;

	check(wp_io_call(arg, WP_IO_READ, has_ended, &info, patience(), &result) == WP_OK,
	      "the end of a child");
	return info.si_code == CLD_EXITED ? info.si_status : -1;
}

/* The waiting thread runs beside the one that ends the child, on one carrier. */
static int ends_child(void *arg)
{
	return write(*(int *)arg, "x", 1) == 1 ? 0 : 1;
}

CASE(child)
{
	wp_vthread *waiter;
	int ends[2], fd;
	wp_io *io;
	pid_t pid;

	if (pipe(ends) != 0)
		lost("a pipe");
	pid = fork();
	if (pid == 0)
		_exit(read(ends[0], &(char[1]){0}, 1) == 1 ? 7 : 1);
	fd = (int)syscall(SYS_pidfd_open, pid, 0); /* also if there is no child */
	open_io(1, false);
	io = take(fd);
	waiter = start(waits_for_child, io);
	check(join(start(ends_child, &ends[1]), "who ends it") == 0, "a write");
	check(join(waiter, "who waits for it") == 7, "what the child has said");
	wp_io_free(io);
	close_group();
	close(ends[0]);
	close(ends[1]);
}

static struct sockaddr_un full;
static socklen_t full_length = sizeof(sa_family_t); /* the system finds a name */

static int connects(int64_t deadline_ns, wp_io *io)
{
	return wp_io_connect(io, (struct sockaddr *)&full, full_length, deadline_ns);
}

static int connects_shortly(void *arg)
{
	return connects(in_ms(5), arg);
}

static int connects_in_the_end(void *arg)
{
	return connects(patience(), arg);
}

static int listener;

/* Fills the queue of the socket. Returns a descriptor that finds it full. */
static int fill(void)
{
	int fd;

	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	full.sun_family = AF_UNIX;
	check(bind(listener, (struct sockaddr *)&full, full_length) == 0, "a name");
	full_length = sizeof(full);
	check(getsockname(listener, (struct sockaddr *)&full, &full_length) == 0, "that name");
	check(listen(listener, 0) == 0, "who listens");
	do
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	while (connect(fd, (struct sockaddr *)&full, full_length) == 0);
	check(errno == EAGAIN, "that the queue is full");
	return fd;
}

/* As connect(2), which waits until the other side has accepted a connection. */
CASE(full)
{
	int fd = fill();
	wp_vthread *waiter;
	wp_io *io;

	open_io(1, false);
	io = take(fd);
	check(join(start(connects_shortly, io), "a deadline") == WP_TIMEOUT, "a deadline");
	waiter = start(connects_in_the_end, io);
	await_in_line(io, WP_IO_WRITE, 1, "who connects");
	check(accept(listener, NULL, NULL) >= 0, "a connection");
	check(join(waiter, "who connects") == WP_OK, "a connection to a queue that was full");
	wp_io_free(io);
	io = take(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	waiter = start(connects_in_the_end, io);
	await_in_line(io, WP_IO_WRITE, 1, "who connects then");
	wp_io_free(io);
	check(join(waiter, "a close") == WP_CLOSED, "that a close ends it");
	close_group();
}

/* A connection to that queue naps in the line; behind it stands a thread that waits for an edge. */
static wp_atomic(uint32_t) is_ready;

static int64_t asks_once(int fd, void *arg)
{
	if (wp_load_acquire(&is_ready) != 0)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int waits_for_edge(void *io)
{
	int64_t result;

	return wp_io_call(io, WP_IO_WRITE, asks_once, NULL, patience(), &result);
}

/* Does it stand behind the napping thread? If it stands before it, it is sent to the end. */
static bool is_second(wp_io *io)
{
	wp_ready *line = &io->ready[WP_IO_WRITE];
	bool is_napping, has_two;

	wp_lock_acquire(&line->lock);
	is_napping = line->line.first == NULL || line->line.first->why == WP_WAIT_CONNECT;
	has_two = line->line.first != line->line.last;
	wp_lock_release(&line->lock);
	if (!is_napping && has_two)
		wp_ready_tell(line, false);
	return is_napping && has_two;
}

CASE(napping)
{
	int64_t deadline_ns = patience();
	wp_vthread *napping, *waiter;
	wp_io *io;

	open_io(1, false);
	io = take(fill());
	napping = start(connects_in_the_end, io);
	for (int turn = 0; turn < 10; turn++) {
		wp_store_release(&is_ready, 0);
		waiter = start(waits_for_edge, io);
		while (!is_second(io) && wp_clock_ns() < deadline_ns)
			wp_yield();
		wp_store_release(&is_ready, 1);
		wp_ready_tell(&io->ready[WP_IO_WRITE], false);
		check(join(waiter, "an edge that was told to who naps") == WP_OK, "an edge");
	}
	check(wp_clock_ns() < deadline_ns, "no edge, or it comes only with the deadline");
	wp_io_free(io);
	check(join(napping, "who naps") == WP_CLOSED, "that a close ends it");
	close_group();
}
