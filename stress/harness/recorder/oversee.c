/* SPDX-License-Identifier: Apache-2.0
 * oversee.c - ends each round, however its actors wait for one another. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <time.h>

#include "base/futex.h"
#include "recorder.h"

enum {
	LOOK_NS = 50000,      /* how often main looks at the actors */
	ASLEEP_NS = 1000000,  /* all actors that are left sleep for so long: no wake will come */
	LONG_NS = 2000000000, /* a round that takes this long is stopped */
};

static int count_in(enum recorder_place place)
{
	int count = 0;

	for (int k = 0; k < recorder_all.actors_count; k++)
		count += wp_load_acquire(&recorder_all.actors[k].place) == (int)place;
	return count;
}

/* Wakes the sleepers when no other actor is left. [main] */
static void wake_sleepers(void)
{
	if (count_in(RUNNING))
		return;
	for (int k = 0; k < recorder_all.actors_count; k++) {
		recorder_actor *it = &recorder_all.actors[k];

		if (wp_load_acquire(&it->place) == ASLEEP)
			wp_futex_wake((wp_atomic(uint32_t) *)wp_load_relaxed(&it->word), 1);
	}
}

void recorder_oversee(void)
{
	int64_t begin = wp_clock_ns(), asleep_since = begin;

	for (int ended = 0; ended < recorder_all.actors_count;) {
		int64_t now = wp_clock_ns();

		ended = count_in(RETURNED) + count_in(STOPPED);
		if (ended + count_in(ASLEEP) < recorder_all.actors_count)
			asleep_since = now;
		if (count_in(STOPPED) || now - asleep_since > ASLEEP_NS || now - begin > LONG_NS)
			wp_store_release(&recorder_all.stop, 1);
		if (wp_load_relaxed(&recorder_all.stop))
			wake_sleepers();
		if (ended < recorder_all.actors_count)
			nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
	}
}
