/* SPDX-License-Identifier: Apache-2.0
 * descriptor.c - calls on descriptors; see descriptor.h. */
#define _GNU_SOURCE
#include "io/descriptor.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/descriptor_poller.h"
#include "sched/worker.h"

bool wp_io_enter(wp_io *io)
{
	return wp__io_begin(io, 0);
}

/* Closes the descriptor and ends the use. [the last user of a closing descriptor | system calls] */
static void close_it(wp_io *io)
{
	wp_io_poller *poller = io->poller;

	if (io->fd >= 0)
		wp__io_poller_remove(poller, io);
	io->fd = -1;
	if (!wp__io_leave(io))
		return;
	wp__io_poller_retire(poller, io);
	wp__io_poller_free(poller);
}

void wp_io_exit(wp_io *io)
{
	if (wp__io_end(io))
		close_it(io);
}

int wp_io_close(wp_io *io)
{
	if (!wp__io_begin(io, WP_IO_CLOSING))
		return WP_CLOSED;
	wp_ready_shut(&io->ready[WP_IO_READ]);
	wp_ready_shut(&io->ready[WP_IO_WRITE]);
	wp_io_exit(io);
	return WP_OK;
}

void wp_io_free(wp_io *io)
{
	wp_io_close(io);
	wp__io_begin(io, WP_IO_CLOSING | WP_IO_FREED);
	wp_io_exit(io);
}

static int64_t accept_one(int fd, void *arg);
static int64_t connect_once(int fd, void *arg);

static enum wp_wait why_of(enum wp_io_side side, wp_io_attempt *attempt)
{
	if (attempt == accept_one)
		return WP_WAIT_ACCEPT;
	if (attempt == connect_once)
		return WP_WAIT_CONNECT;
	return side == WP_IO_READ ? WP_WAIT_READ : WP_WAIT_WRITE;
}

void wp__io_left(wp_waiter *waiter)
{
	wp_io *io = waiter->value;

	if (wp__io_abandon(waiter))
		close_it(io);
}

/* As wp_io_call; `size` is that of wp__io_call. */
static int call(wp_io *io, enum wp_io_side side, wp_io_attempt *attempt, void *arg, size_t size,
		int64_t deadline_ns, int64_t *result)
{
	wp_waiter waiter;
	int code, failed;

	if (!wp_io_enter(io))
		return WP_CLOSED;
	waiter.why = (uint16_t)why_of(side, attempt);
	code = wp__io_call(io, side, &waiter, attempt, arg, size, deadline_ns, result);
	failed = wp__errno();
	wp_io_exit(io);
	wp__errno_set(failed);
	return code;
}

int wp_io_call(wp_io *io, enum wp_io_side side, int64_t (*attempt)(int fd, void *arg), void *arg,
	       int64_t deadline_ns, int64_t *result)
{
	return call(io, side, attempt, arg, 0, deadline_ns, result);
}

struct bytes {
	char *at;
	size_t size;
};

static int64_t read_some(int fd, void *arg)
{
	struct bytes *bytes = arg;

	return read(fd, bytes->at, bytes->size);
}

/* Returns true if the poller runs as soon as the caller waits. Another carrier may be busy, and who
 * blocks its carrier blocks the carrier's poller, too. */
static bool is_beside_poller(const wp_io *io)
{
	const wp_vthread *self = wp_vthread_current();

	return self != NULL && self->pins == 0 && self->has_stack &&
	       wp__worker_self() == io->poller->worker;
}

int wp_io_read(wp_io *io, void *bytes, size_t size, int64_t deadline_ns, size_t *done)
{
	struct bytes some = {bytes, size};
	int64_t result = 0;
	bool may_leave_out = io->is_stream && is_beside_poller(io);
	int code = call(io, WP_IO_READ, read_some, &some, may_leave_out ? size : 0, deadline_ns,
			&result);

	*done = code == WP_OK ? (size_t)result : 0;
	return code;
}

static int64_t write_some(int fd, void *arg)
{
	struct bytes *bytes = arg;
	ssize_t result = send(fd, bytes->at, bytes->size, MSG_NOSIGNAL);

	return result < 0 && errno == ENOTSOCK ? write(fd, bytes->at, bytes->size) : result;
}

int wp_io_write(wp_io *io, const void *bytes, size_t size, int64_t deadline_ns, size_t *done)
{
	struct bytes rest = {(char *)(uintptr_t)bytes, size};
	int code = WP_OK;

	while (code == WP_OK && rest.size != 0) {
		int64_t result = 0;

		code = wp_io_call(io, WP_IO_WRITE, write_some, &rest, deadline_ns, &result);
		if (code == WP_OK) {
			rest.at += result;
			rest.size -= (size_t)result;
		}
	}
	*done = size - rest.size;
	return code;
}

static int64_t accept_one(int fd, void *arg)
{
	(void)arg;
	return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int wp_io_accept(wp_io *io, int64_t deadline_ns, int *fd)
{
	int64_t result = -1;
	int code = wp_io_call(io, WP_IO_READ, accept_one, NULL, deadline_ns, &result);

	*fd = code == WP_OK ? (int)result : -1;
	return code;
}

struct target {
	const struct sockaddr *address;
	socklen_t length;
	bool has_begun;
	bool is_again; /* EAGAIN from connect(2): not begun, no event will follow */
};

/* The first attempt begins the connection; the next ones check what has become of it. */
static int64_t connect_once(int fd, void *arg)
{
	struct target *target = arg;
	socklen_t length = sizeof(int);
	int failure = 0;

	if (!target->has_begun) {
		target->has_begun = true;
		if (connect(fd, target->address, target->length) == 0)
			return 0;
		target->is_again = errno == EAGAIN;
		if (target->is_again)
			errno = EBUSY;
		else if (errno == EINPROGRESS || errno == EINTR)
			errno = EAGAIN;
		return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &length) != 0)
		return -1;
	if (failure == 0 && getpeername(fd, &(struct sockaddr){0}, &(socklen_t){0}) != 0)
		failure = errno == ENOTCONN ? EAGAIN : errno; /* not connected yet: another edge */
	errno = failure;
	return failure == 0 ? 0 : -1;
}

enum { FIRST_NAP_NS = 1000000, LONGEST_NAP_NS = 32000000 };

/* Sleeps until a thread closes the descriptor, or until that time. */
static int nap(wp_io *io, int64_t until_ns)
{
	wp_ready *ready = &io->ready[WP_IO_WRITE];
	wp_waiter waiter;
	bool is_told;
	int code;

	if (!wp_io_enter(io))
		return WP_CLOSED;
	waiter.why = WP_WAIT_CONNECT;
	code = wp__io_await(io, WP_IO_WRITE, &waiter, wp_ready_look(ready), until_ns, &is_told);
	if (is_told)
		wp_ready_pass(ready);
	wp_io_exit(io);
	return code == WP_TIMEOUT ? WP_OK : code;
}

/* On a unix-domain socket, connect(2) fails with EAGAIN until the listener has accepted another
 * connection. The system reports no event for that, so the attempt is repeated. */
int wp_io_connect(wp_io *io, const struct sockaddr *address, socklen_t length, int64_t deadline_ns)
{
	int64_t result, nap_ns = FIRST_NAP_NS;

	for (;;) {
		struct target target = {address, length, false, false};
		int code = wp_io_call(io, WP_IO_WRITE, connect_once, &target, deadline_ns, &result);
		int64_t now_ns;

		if (!target.is_again)
			return code;
		wp__errno_set(EAGAIN);
		if (address->sa_family != AF_UNIX)
			return code;
		now_ns = wp_clock_ns();
		if (now_ns >= deadline_ns)
			return WP_TIMEOUT;
		code = nap(io, nap_ns < deadline_ns - now_ns ? now_ns + nap_ns : deadline_ns);
		if (code != WP_OK)
			return code;
		nap_ns = nap_ns < LONGEST_NAP_NS ? 2 * nap_ns : LONGEST_NAP_NS;
	}
}
