/* SPDX-License-Identifier: Apache-2.0
 * delay.c - stretches the window before each shared access, in code compiled with
 * -DWP_STRESS_DELAYED.
 *
 * Most accesses are not delayed, because a handshake breaks when one window is wide and others are
 * not. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "engine.h"

enum {
	ONE_IN_PAUSES = 32,     /* accesses per delay of 10 to 200 pauses */
	ONE_IN_YIELD = 2048,    /* accesses per sched_yield */
	ONE_IN_SLEEP = 1 << 16, /* accesses per sleep: all sleeps cost as much as everything else */
	PAUSES_LEAST = 10,
	PAUSES_SPREAD = 190,
	SLEEP_NS = 50000,
};

static _Thread_local uint64_t random_state; /* 0: no delays */

void stress_delays(uint64_t seed)
{
	random_state = seed;
}

/* Called by the kernel before each access. [any thread | may block for a while] */
void wp__stress_delay(void);
void wp__stress_delay(void)
{
	uint64_t r;

	if (!random_state)
		return;
	r = stress_random(&random_state);
	if (r % ONE_IN_PAUSES == 0) {
		for (uint64_t n = PAUSES_LEAST + (r >> 32) % PAUSES_SPREAD; n; n--)
			wp_pause();
	} else if (r % ONE_IN_YIELD == 1) {
		sched_yield();
	} else if (r % ONE_IN_SLEEP == 3) {
		nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
	}
}
