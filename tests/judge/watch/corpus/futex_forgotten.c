/* SPDX-License-Identifier: Apache-2.0
 * futex_forgotten.c - a value is stored at a futex, and nobody is woken; all other threads sleep.
 *
 * Class      forgotten wake
 * Verdict    missed
 * Fixed      waits */
#include "hang.h"

static uint32_t ready;

static void *waiter(void *arg)
{
	while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) == 0)
		futex(&ready, FUTEX_WAIT_PRIVATE, 0);
	rest();
	return arg;
}

int main(void)
{
	pthread_t thread = start(waiter);

	settle();
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
#ifdef FIXED
	futex(&ready, FUTEX_WAKE_PRIVATE, 1);
#endif
	pthread_join(thread, NULL);
}
