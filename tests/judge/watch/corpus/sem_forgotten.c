/* SPDX-License-Identifier: Apache-2.0
 * sem_forgotten.c - a semaphore is raised, and nobody is woken.
 *
 * Class      forgotten wake
 * Verdict    missed
 * Fixed      waits */
#include "hang.h"

static sem_t items;

static void *consumer(void *arg)
{
	sem_wait(&items);
	rest();
	return arg;
}

int main(void)
{
	sem_init(&items, 0, 0);
	start(consumer);
	settle();
#ifdef FIXED
	sem_post(&items);
#else
	__atomic_fetch_add((uint64_t *)(void *)&items, 1,
			   __ATOMIC_RELEASE); /* the half of a post */
#endif
	for (;;)
		sleep(1000);
}
