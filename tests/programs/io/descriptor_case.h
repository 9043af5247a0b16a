/* SPDX-License-Identifier: Apache-2.0
 * descriptor_case.h - readers and writers, for io.c and io_server.c. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "io/descriptor.h"
#include "../vthreads_case.h"
#include "sched/worker.h"

#ifdef NO_PWAIT2 /* errno: an older system, or a filter; after so many calls that succeed */
struct epoll_event;
int __real_epoll_pwait2(int fd, struct epoll_event *events, int size, const struct timespec *left,
			const void *mask);
int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int size, const struct timespec *left,
			const void *mask);

int __wrap_epoll_pwait2(int fd, struct epoll_event *events, int size, const struct timespec *left,
			const void *mask)
{
	static wp_atomic(uint32_t) calls;

	if ((int)wp_fetch_add_relaxed(&calls, 1) < PWAIT2_WORKS)
		return __real_epoll_pwait2(fd, events, size, left, mask);
	errno = NO_PWAIT2;
	return -1;
}
#endif

enum { MESSAGES = 100 };

static inline void open_io(uint32_t carriers, bool stealing)
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

/* At an address of this machine, which *address receives. */
static inline wp_io *listen_at(struct sockaddr_in *address, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(*address);

	*address = (struct sockaddr_in){.sin_family = AF_INET,
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
	    listen(fd, backlog) != 0 || getsockname(fd, (struct sockaddr *)address, &length) != 0)
		lost("a socket that listens");
	return take(fd);
}

static inline void pair_of(wp_io *ends[2])
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		lost("a pair of sockets");
	ends[0] = take(fds[0]);
	ends[1] = take(fds[1]);
}

/* The same for a group of one carrier, which is opened for the pair and closed with it. */
static inline void open_pair(wp_io *ends[2])
{
	open_io(1, false);
	pair_of(ends);
}

static inline void close_pair(wp_io *ends[2])
{
	wp_io_free(ends[0]);
	wp_io_free(ends[1]);
	close_group();
}

static inline void await_in_line(wp_io *io, enum wp_io_side side, uint32_t many, const char *what)
{
	await_line(&io->ready[side].lock, &io->ready[side].line, many, what);
}

/* Returns the bytes that it reads, at most `size`. */
static inline size_t get(wp_io *io, void *bytes, size_t size)
{
	size_t done;

	check(wp_io_read(io, bytes, size, patience(), &done) == WP_OK, "a read");
	return done;
}

static inline void put(wp_io *io, const void *bytes, size_t size)
{
	size_t done;

	check(wp_io_write(io, bytes, size, patience(), &done) == WP_OK && done == size, "a write");
}

/* Sends back all bytes, until the end. */
static inline int echoes(void *arg)
{
	wp_io *io = arg;
	char bytes[256];
	size_t size;

	while ((size = get(io, bytes, sizeof(bytes))) != 0)
		put(io, bytes, size);
	wp_io_free(io);
	return 0;
}

static inline void talk(wp_io *io)
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

/* Occupies its carrier, so that the tasks queued behind it are stolen. */
static __attribute__((unused)) wp_atomic(uint32_t) over;

static inline int waits_for_it(void *arg)
{
	while (wp_load_acquire(&over) == 0)
		wp_yield();
	return 0;
}
