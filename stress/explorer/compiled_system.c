/* SPDX-License-Identifier: Apache-2.0
 * compiled_system.c - the model's versions of the system calls in kernel/base/futex.c and
 * membarrier.c. */
#include "compiled.h"

#include <errno.h>

#include "base/error.h"
#include "base/futex.h"

enum { NOW_NS = 1000000000 };

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
}

void wp_event_signal(int event)
{
	wp__explore_event(event, 0, WP__SITE("event_signal"));
}

bool wp_event_take(int event)
{
	return wp__explore_event(event, 1, WP__SITE("event_take")) != 0;
}

/* Time stands still. A deadline passes where time-outs are explored. */
int64_t wp_clock_ns(void)
{
	return NOW_NS;
}

bool wp_fence_heavy_register(void)
{
	return true;
}

/* The attempts of a scenario have no other reason to fail. */
int wp__errno(void)
{
	return EAGAIN;
}

void wp__errno_set(int failed)
{
}
