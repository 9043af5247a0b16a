/* SPDX-License-Identifier: Apache-2.0
 * echo_accept.c - accepts connections in modes in which no virtual thread does; see echo.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo.h"

/* While no descriptor is free, it tries again from time to time. */
void echo_accept(int listener, void (*take)(void *arg, int fd, uint32_t number), void *arg)
{
	struct pollfd either[2] = {{.fd = listener, .events = POLLIN}, {.events = POLLIN}};
	uint32_t number = 0;
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	either[1].fd = signalfd(-1, &ends, SFD_CLOEXEC);
	while (either[1].revents == 0) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		bool is_full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
					  errno == ENOMEM);

		if (fd < 0) {
			poll(either + is_full, 2u - is_full, is_full ? SERVE_RETRY_MS : -1);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		take(arg, fd, number++);
	}
	close(either[1].fd);
	close(listener);
}
