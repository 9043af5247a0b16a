/* SPDX-License-Identifier: Apache-2.0
 * futex_with_timer.c - a value is stored at a futex, and nobody is woken; a thread sleeps by time.
 *
 * Class      forgotten wake
 * Verdict    suspect
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
	start(waiter);
	settle();
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
#ifdef FIXED
	futex(&ready, FUTEX_WAKE_PRIVATE, 1);
#endif
	for (;;)
		sleep(1000);
}
