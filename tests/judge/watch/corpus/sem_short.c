/* SPDX-License-Identifier: Apache-2.0
 * sem_short.c - two threads wait for a semaphore that was posted once.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static sem_t items;

static void *consumer(void *arg)
{
	sem_wait(&items);
	return arg;
}

int main(void)
{
	pthread_t first, second;

	sem_init(&items, 0, 0);
	first = start(consumer);
	second = start(consumer);
	sem_post(&items);
#ifdef FIXED
	sem_post(&items);
#endif
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	rest();
}
