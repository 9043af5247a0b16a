/* SPDX-License-Identifier: Apache-2.0
 * eventfd_edge.c - an edge-triggered eventfd is never read, as in nginx and Tokio.
 *
 * Class      healthy */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "hang.h"

static int event;

static void *rings(void *arg)
{
	uint64_t one = 1;

	for (;;) {
		sleep(5);
		if (write(event, &one, sizeof one) != sizeof one)
			return arg;
	}
}

int main(void)
{
	struct epoll_event got, wanted = {.events = EPOLLIN | EPOLLET};
	int epoll = epoll_create1(0);
	uint64_t one = 1;

	event = eventfd(0, 0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
	if (write(event, &one, sizeof one) != sizeof one)
		return 1;
	start(rings);
	for (;;)
		epoll_wait(epoll, &got, 1, -1);
}
