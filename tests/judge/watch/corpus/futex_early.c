/* SPDX-License-Identifier: Apache-2.0
 * futex_early.c - a futex is woken between the check of a flag and the sleep, at a word that stays.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static uint32_t word, is_ready;

static void *waker(void *arg)
{
	__atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
#ifdef FIXED
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
#endif
	futex(&word, FUTEX_WAKE_PRIVATE, 1);
	return arg;
}

int main(void)
{
	while (__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE) == 0) {
		pthread_join(start(waker), NULL);
		futex(&word, FUTEX_WAIT_PRIVATE, 0);
	}
	rest();
}
