/* SPDX-License-Identifier: Apache-2.0
 * parker.c - the permit in one word, and the futex on it. See parker.h. */
#include "wakeup/parker.h"

#include "base/error.h"
#include "base/futex.h"

void wp_parker_init(wp_parker *parker)
{
	wp_init(&parker->word, 0);
}

bool wp_parker_unpark(wp_parker *parker)
{
	uint32_t old;

	/* [parker.4] release; pairs parker.1, parker.2, parker.3; upholds Parker!HappensBefore: the
	 * park sees what this thread wrote, even if the permit was there already. */
	old = wp_fetch_or_release(&parker->word, WP_PARKER_PERMIT);
	if ((old & WP_PARKER_PARKED) && !(old & WP_PARKER_PERMIT))
		wp_futex_wake(&parker->word, 1);
	return !(old & (WP_PARKER_PERMIT | WP_PARKER_CLOSED));
}

/* The only exit from a sleep. Clears PARKED and PERMIT, and returns what the word was. [owner |
 * wait-free] */
static uint32_t leave(wp_parker *parker)
{
	/* [parker.3] acquire; pairs parker.4, parker.5; upholds Parker!UnparkNotLost: the word is
	 * read and cleared in one step. */
	return wp_fetch_and_acquire(&parker->word, ~(WP_PARKER_PERMIT | WP_PARKER_PARKED));
}

/* Tries once to take the permit. Returns WP_AGAIN if there was no permit and nothing else ended the
 * wait. [owner | blocks] */
static int park_once(wp_parker *parker, int64_t deadline_ns)
{
	uint32_t seen = WP_PARKER_PERMIT;
	int rc;

	/* [parker.1] acquire; pairs parker.4; upholds Parker!HappensBefore: this is the fast path.
	 */
	if (wp_cas_acquire(&parker->word, &seen, 0))
		return WP_OK;
	if (seen == 0) {
		if (deadline_ns <= 0)
			return WP_TIMEOUT;
		/* [parker.2] relaxed: atomicity is enough, because this step passes no data to
		 * another thread; pairs parker.4, parker.5; upholds Parker!UnparkNotLost. */
		if (!wp_cas_relaxed(&parker->word, &seen, WP_PARKER_PARKED))
			return WP_AGAIN;
		rc = wp_futex_wait(&parker->word, WP_PARKER_PARKED, deadline_ns);
	} else {
		rc = WP_OK; /* closed, with or without a last permit */
	}
	seen = leave(parker);
	if (seen & WP_PARKER_PERMIT)
		return WP_OK;
	if (seen & WP_PARKER_CLOSED)
		return WP_CLOSED;
	return rc == WP_TIMEOUT || rc == WP_INTERRUPTED ? rc : WP_AGAIN;
}

int wp_parker_park_interruptible(wp_parker *parker, int64_t deadline_ns)
{
	int rc;

	do
		rc = park_once(parker, deadline_ns);
	while (rc == WP_AGAIN);
	return rc;
}

int wp_parker_park_until(wp_parker *parker, int64_t deadline_ns)
{
	int rc;

	do
		rc = wp_parker_park_interruptible(parker, deadline_ns);
	while (rc == WP_INTERRUPTED);
	return rc;
}

int wp_parker_park(wp_parker *parker)
{
	return wp_parker_park_until(parker, WP_FOREVER);
}

void wp_parker_close(wp_parker *parker)
{
	/* [parker.5] release; pairs parker.2, parker.3; upholds Parker!UnparkNotLost: a sleeper is
	 * woken, and a permit stays. It is a release because the closer may write its reason
	 * before. */
	if (wp_fetch_or_release(&parker->word, WP_PARKER_CLOSED) & WP_PARKER_PARKED)
		wp_futex_wake(&parker->word, 1);
}
