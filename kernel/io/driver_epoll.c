/* SPDX-License-Identifier: Apache-2.0
 * driver_epoll.c - waits for descriptors with epoll(7), edge-triggered; see wp_driver in poller.h.
 *
 * Why it works  The wakeup is edge-triggered too. Each write to the eventfd is an edge of its own,
 *               so no thread has to read it.
 * Not explored  It blocks in the system. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/error.h"
#include "io/descriptor_poller.h"
#include "thread/fiber.h"

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

typedef struct epoll {
	int fd;
	bool has_ns; /* it can sleep to the nanosecond; writer: the poller */
} epoll;

/* The thread that gets an event of a descriptor sees what was written before the descriptor was
 * added: the system orders the two. ThreadSanitizer knows that only of epoll_wait. */
#ifdef WP__FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#define BEFORE_ADD(epoll) __tsan_release(epoll)
#define AFTER_WAIT(epoll) __tsan_acquire(epoll)
#else
#define BEFORE_ADD(epoll) ((void)0)
#define AFTER_WAIT(epoll) ((void)0)
#endif

/* Returns whether the system can sleep to the nanosecond. Some Linux kernels have milliseconds
 * only, and some system-call filters refuse epoll_pwait2. [any thread | system calls] */
static bool has_ns(int fd)
{
	struct timespec now = {0};
	struct epoll_event event;

	return epoll_pwait2(fd, &event, 1, &now, NULL) >= 0 || errno == EINTR;
}

static void driver_close(void *waits)
{
	epoll *of = waits;

	close(of->fd);
	free(of);
}

static void *driver_open(int wakeup)
{
	epoll *of = malloc(sizeof(*of));
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
	int failed;

	if (of == NULL)
		return NULL;
	of->fd = epoll_create1(EPOLL_CLOEXEC);
	if (of->fd >= 0 && epoll_ctl(of->fd, EPOLL_CTL_ADD, wakeup, &edge) == 0) {
		of->has_ns = has_ns(of->fd);
		return of;
	}
	failed = errno;
	if (of->fd >= 0)
		close(of->fd);
	free(of);
	errno = failed;
	return NULL;
}

static int driver_add(void *waits, int fd, void *of)
{
	struct epoll_event both = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				   .data.ptr = of};

	BEFORE_ADD(waits);
	if (epoll_ctl(((epoll *)waits)->fd, EPOLL_CTL_ADD, fd, &both) == 0)
		return WP_OK;
	return errno == EPERM ? WP_UNSUPPORTED : WP_SYSTEM;
}

static void driver_remove(void *waits, int fd)
{
	epoll_ctl(((epoll *)waits)->fd, EPOLL_CTL_DEL, fd,
		  NULL); /* another process may have a copy of it */
}

/* Waits for events until a time. If the system has milliseconds only, it may wait up to one
 * millisecond longer. */
static int sleep_until(epoll *of, int64_t until_ns, struct epoll_event *events)
{
	int64_t left_ns = until_ns - wp_clock_ns();
	bool is_ever = until_ns == WP_FOREVER;
	struct timespec left;
	int count, ms;

	if (left_ns < 0)
		left_ns = 0;
	left = (struct timespec){.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
	if (of->has_ns) {
		count = epoll_pwait2(of->fd, events, WP_DRIVER_EVENTS, is_ever ? NULL : &left,
				     NULL);
		AFTER_WAIT(of);
		if (count >= 0 || errno == EINTR)
			return count;
		of->has_ns = false; /* a new filter: unable to sleep, the poller would spin */
	}
	ms = left_ns / NS_PER_MS < INT_MAX ? (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : INT_MAX;
	if (is_ever)
		ms = -1;
	return epoll_wait(of->fd, events, WP_DRIVER_EVENTS, ms);
}

static int driver_wait(void *waits, int64_t until_ns, wp_driver_event *events)
{
	struct epoll_event found[WP_DRIVER_EVENTS];
	epoll *of = waits;
	int count = until_ns == 0 ? epoll_wait(of->fd, found, WP_DRIVER_EVENTS, 0)
				  : sleep_until(of, until_ns, found);

	for (int at = 0; at < count; at++) {
		uint32_t what = found[at].events;
		bool has_failed = (what & (EPOLLHUP | EPOLLERR)) != 0;

		events[at].of = found[at].data.ptr;
		events[at].what =
			(has_failed || what & (EPOLLIN | EPOLLRDHUP) ? WP_DRIVER_READ : 0u) |
			(has_failed || what & EPOLLOUT ? WP_DRIVER_WRITE : 0u);
	}
	return count;
}

WP_DRIVER(epoll);
