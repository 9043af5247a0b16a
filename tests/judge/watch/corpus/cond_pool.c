/* SPDX-License-Identifier: Apache-2.0
 * cond_pool.c - a pool of threads waits for jobs, which come each 2 ms.
 *
 * Class      healthy */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (jobs == 0)
			pthread_cond_wait(&cond, &lock);
		jobs--;
		pthread_mutex_unlock(&lock);
	}
}

int main(void)
{
	for (int at = 0; at < 8; at++)
		start(worker);
	for (;;) {
		pthread_mutex_lock(&lock);
		jobs += 3;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
		usleep(2000);
	}
}
