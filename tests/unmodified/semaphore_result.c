/* SPDX-License-Identifier: Apache-2.0
 * semaphore_result.c - a thread hands a result over by a semaphore.
 * BUG: it posts before the result is there. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t is_done;
static int result;

static void *work(void *unused)
{
#ifdef BUG
	sem_post(&is_done);
	result = 42;
#else
	result = 42;
	sem_post(&is_done);
#endif
	return NULL;
}

int main(void)
{
	pthread_t worker;

	sem_init(&is_done, 0, 0);
	pthread_create(&worker, NULL, work, NULL);
	sem_wait(&is_done);
	assert(result == 42);
	pthread_join(worker, NULL);
	sem_destroy(&is_done);
	return 0;
}
