/* SPDX-License-Identifier: Apache-2.0
 * mutex_forgotten.c - a mutex is released, and nobody is woken.
 *
 * Class      forgotten wake
 * Verdict    missed
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	rest();
	return arg;
}

int main(void)
{
	pthread_mutex_lock(&lock);
	start(waiter);
	settle();
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#else
	__atomic_store_n(&lock.__data.__lock, 0, __ATOMIC_RELEASE); /* the half of an unlock */
#endif
	for (;;)
		sleep(1000);
}
