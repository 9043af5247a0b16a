/* SPDX-License-Identifier: Apache-2.0
 * driver_epoll.c - waits for descriptors with epoll(7), edge-triggered; see wp_driver in poller.h.
 *
 *   sleep until a deadline    1 ms away or more   epoll_pwait2 ends at the deadline
 *                             nearer              the timer fires no later than that? no: set it;
 *                                                 epoll_pwait2 ends at an edge
 *
 * Why it works  The wakeup is edge-triggered too. Each write to the eventfd is an edge of its own,
 *               so no thread has to read it. The same holds for the timer.
 *               A deadline that is near costs more than the sleep: it must be set in the CPU's clock,
 *               and taken back if the sleep ends before. So the timer stays set from one sleep to the
 *               next. If it fires for a deadline that is over, one wait ends early. It fires
 *               as late after its deadline as the system's own timeouts may (timer slack), so that a
 *               wakeup that comes meanwhile serves the deadline.
 * Not explored  It blocks in the system. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"
#include "io/descriptor_poller.h"
#include "thread/fiber.h"

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000, NEAR_NS = NS_PER_MS };

/* The last three are written by the poller. */
typedef struct epoll {
	int fd, timer;
	bool has_ns;      /* it can sleep to the nanosecond */
	int64_t fires_ns; /* when the timer fires, or has fired; 0: it was not set */
	int64_t slack_ns; /* how late the system lets a timeout be; below 0: there is no timer */
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

	if (of->timer >= 0)
		close(of->timer);
	if (of->fd >= 0)
		close(of->fd);
	free(of);
}

static struct timespec time_of(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* Adds a descriptor of which each edge ends a wait. */
static bool ends_waits(epoll *of, int fd)
{
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};

	return epoll_ctl(of->fd, EPOLL_CTL_ADD, fd, &edge) == 0;
}

static void *driver_open(int wakeup)
{
	epoll *of = calloc(1, sizeof(*of));
	int failed;

	if (of == NULL)
		return NULL;
	of->timer = -1;
	of->fd = epoll_create1(EPOLL_CLOEXEC);
	if (of->fd < 0 || !ends_waits(of, wakeup)) {
		failed = errno;
		driver_close(of);
		errno = failed;
		return NULL;
	}
	of->has_ns = has_ns(of->fd);
	of->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	of->slack_ns = of->timer >= 0 && ends_waits(of, of->timer) ? prctl(PR_GET_TIMERSLACK) : -1;
	return of;
}

static int driver_add(void *waits, int fd, void *of)
{
	struct epoll_event both = {.events = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET,
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

/* Returns true if the timer ends a wait that begins now, at the deadline or soon after it. [the
 * poller | system calls] */
static bool is_timed(epoll *of, int64_t until_ns, int64_t now_ns)
{
	int64_t latest_ns = until_ns + of->slack_ns;
	struct itimerspec once = {.it_value = time_of(latest_ns)};

	if (of->slack_ns < 0 || until_ns - now_ns >= NEAR_NS || until_ns <= now_ns)
		return false;
	if (of->fires_ns > now_ns && of->fires_ns <= latest_ns)
		return true;
	if (timerfd_settime(of->timer, TFD_TIMER_ABSTIME, &once, NULL) != 0) {
		of->slack_ns = -1; /* a new filter */
		return false;
	}
	of->fires_ns = latest_ns;
	return true;
}

/* Waits for events until a time. If the system has milliseconds only, it may wait up to one
 * millisecond longer. */
static int sleep_until(epoll *of, int64_t until_ns, struct epoll_event *events)
{
	int64_t now_ns = wp_clock_ns(), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	bool is_ever = until_ns == WP_FOREVER || is_timed(of, until_ns, now_ns);
	struct timespec left = time_of(left_ns);
	int count, ms;

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
			(has_failed || what & (EPOLLPRI | EPOLLRDHUP) ? 0u : WP_DRIVER_DATA) |
			(has_failed || what & EPOLLOUT ? WP_DRIVER_WRITE : 0u);
	}
	return count;
}

WP_DRIVER(epoll);
