/* SPDX-License-Identifier: Apache-2.0
 * futex.c - the system calls behind futex and event, the clock, and errno. */
#define _GNU_SOURCE
#include "base/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { NS_PER_S = 1000000000, TURN_NS = 50000 };

/* FUTEX_WAIT_BITSET has an absolute deadline, and FUTEX_WAIT has not. So a wait that is restarted
 * after a signal handler does not start its time anew. */
static int wait_bitset(wp_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
	struct timespec deadline, *until = NULL;
	long rc;

	if (deadline_ns != WP_FOREVER) {
		if (deadline_ns < 0)
			deadline_ns = 0;
		deadline.tv_sec = deadline_ns / NS_PER_S;
		deadline.tv_nsec = deadline_ns % NS_PER_S;
		until = &deadline;
	}
	rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until, NULL,
		     FUTEX_BITSET_MATCH_ANY);
	if (rc == 0)
		return WP_OK;
	switch (errno) {
	case EAGAIN:
		return WP_AGAIN;
	case ETIMEDOUT:
		return WP_TIMEOUT;
	case EINTR:
		return WP_INTERRUPTED;
	default:
		return WP_SYSTEM;
	}
}

int wp_futex_wait(wp_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
	return WP__SLEEP("futex_wait", word, expected, wait_bitset(word, expected, deadline_ns));
}

int wp_futex_wake(wp_atomic(uint32_t) *word, int count)
{
	return WP__SYSTEM("futex_wake", word, count,
			  (int)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0));
}

/* Declared in order.h. A lock may be taken between an error and its report, so errno stays. */
void wp__sleep_a_turn(void)
{
	int before = errno;

	nanosleep(&(struct timespec){.tv_nsec = TURN_NS}, NULL);
	errno = before;
}

int64_t wp_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int wp_event_open(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void wp_event_close(int event)
{
	close(event);
}

static bool add_one(int event)
{
	uint64_t one = 1;

	/* A full counter (EAGAIN) is readable already, so the poller wakes. */
	while (write(event, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	return true;
}

void wp_event_signal(int event)
{
	(void)WP__SYSTEM("event_signal", 0, event, add_one(event));
}

bool wp_event_take(int event)
{
	uint64_t count;

	return WP__SYSTEM("event_take", 0, event,
			  read(event, &count, sizeof(count)) == sizeof(count));
}

int wp__errno(void)
{
	return errno;
}

void wp__errno_set(int failed)
{
	errno = failed;
}
