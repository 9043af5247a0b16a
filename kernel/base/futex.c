/* SPDX-License-Identifier: Apache-2.0
 * futex.c - the system calls of futex and event, and a lock and a condition made of futexes. */
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
#include "twin.h"

#ifdef WP_STRESS
void wp__stress_wait_begin(const void *word, uint32_t expected);
void wp__stress_wait_end(void);
#else
#define wp__stress_wait_begin(word, expected) ((void)0)
#define wp__stress_wait_end() ((void)0)
#endif

enum { NS_PER_S = 1000000000 };

#ifdef WP_EXPLORE

int wp_futex_wait(wp_atomic(uint32_t) *word, uint32_t expected, int64_t deadline_ns)
{
	static const int results[] = {WP_OK, WP_AGAIN, WP_TIMEOUT,
				      WP_INTERRUPTED}; /* as enum explore_woken */

	return results[wp__explore(WP__EXPLORE_WAIT, word, sizeof(*word), 0,
				   deadline_ns != WP_FOREVER, expected, WP__SITE("futex_wait"))];
}

int wp_futex_wake(wp_atomic(uint32_t) *word, int count)
{
	return (int)wp__explore(WP__EXPLORE_WAKE, word, sizeof(*word), 0, (uint64_t)count, 0,
				WP__SITE("futex_wake"));
}

int wp_event_open(void)
{
	return wp__explore_event_open();
}

void wp_event_close(int event)
{
	(void)event;
}

void wp_event_signal(int event)
{
	wp__explore_event(event, 0, WP__SITE("event_signal"));
}

bool wp_event_take(int event)
{
	return wp__explore_event(event, 1, WP__SITE("event_take")) != 0;
}

/* Time stands still: deadlines pass where timeouts are explored. */
int64_t wp_clock_ns(void)
{
	return NS_PER_S;
}

#else

/* WAIT_BITSET and not WAIT: its deadline is absolute, so a restarted wait does not start its time
 * anew. */
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
	wp__stress_wait_begin((const void *)word, expected);
	rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until, NULL,
		     FUTEX_BITSET_MATCH_ANY);
	wp__stress_wait_end();
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
	return WP__SYSTEM("futex_wait", word, expected, wait_bitset(word, expected, deadline_ns));
}

int wp_futex_wake(wp_atomic(uint32_t) *word, int count)
{
	return WP__SYSTEM("futex_wake", word, count,
			  (int)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0));
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

	/* A full counter (EAGAIN) is readable already: the poller wakes. */
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

#endif

void wp_lock_acquire(wp_lock *lock)
{
	uint32_t seen = 0;

	/* [L1] acquire; pairs L3; upholds Guard!NoLostWakeup: what the last holder wrote is seen.
	 */
	if (wp_cas_acquire(&lock->state, &seen, 1))
		return;
	/* [L2] acquire; pairs L3; upholds Guard!NoLostWakeup: state 2 makes the holder wake a
	 * sleeper. */
	while (wp_exchange_acquire(&lock->state, wp_twin(guard_lock_alone) && seen == 3 ? 1 : 2) !=
	       0) {
		wp_futex_wait(&lock->state, 2, WP_FOREVER);
		if (wp_twin(guard_lock_alone))
			seen = seen < 3 ? 3 : 4; /* twin: once woken */
	}
}

void wp_lock_release(wp_lock *lock)
{
	/* [L3] release; pairs L1, L2; upholds Guard!NoLostWakeup: hands over what was written under
	 * the lock. */
	if (wp_exchange_release(&lock->state, 0) == 2 && !wp_twin(guard_release_silent))
		wp_futex_wake(&lock->state, 1);
}

int wp_cond_wait(wp_cond *cond, wp_lock *lock, int64_t deadline_ns)
{
	/* [L4] relaxed: ordered by the lock, under which every signal is counted; pairs L5; upholds
	 * Guard!NoLostWakeup. */
	uint32_t seen = wp_load_relaxed(&cond->signals);
	int rc;

	wp_lock_release(lock);
	rc = wp_futex_wait(&cond->signals, seen, deadline_ns);
	wp_lock_acquire(lock);
	return rc == WP_TIMEOUT || rc == WP_INTERRUPTED ? rc : WP_OK;
}

void wp_cond_signal(wp_cond *cond)
{
	/* [L5] relaxed: ordered by the lock that both sides hold; pairs L4; upholds
	 * Guard!NoLostWakeup. */
	wp_fetch_add_relaxed(&cond->signals, 1);
	if (!wp_twin(guard_signal_silent))
		wp_futex_wake(&cond->signals, 1);
}
