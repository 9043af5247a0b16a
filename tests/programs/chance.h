/* SPDX-License-Identifier: Apache-2.0
 * chance.h - random numbers, and in delayed builds random stalls. */
#ifndef CHANCE_H
#define CHANCE_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

static uint64_t seed;

/* xorshift64 */
static inline uint32_t draw(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)(*random >> 32) % below;
}

#ifdef WP_STRESS_DELAYED
/* Stalls a few accesses of each handshake: see kernel/base/instrument.h. */
void wp__stress_delay(void);
void wp__stress_delay(void)
{
	static _Thread_local uint64_t random;
	uint32_t what;

	if (random == 0)
		random = (uint64_t)(uintptr_t)&random ^ seed;
	what = draw(&random, 1 << 14);
	if (what == 0)
		nanosleep(&(struct timespec){0, 50000}, NULL);
	else if (what < 64)
		sched_yield();
}
#endif

#endif
