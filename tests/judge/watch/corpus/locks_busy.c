/* SPDX-License-Identifier: Apache-2.0
 * locks_busy.c - threads contend for a mutex, a semaphore and a read-write lock.
 *
 * Class      healthy */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t places;

static void *uses(void *arg)
{
	size_t own = (size_t)arg;

	for (;;) {
		sem_wait(&places);
		if (own % 2)
			pthread_rwlock_wrlock(&table);
		else
			pthread_rwlock_rdlock(&table);
		pthread_mutex_lock(&lock);
		usleep(50);
		pthread_mutex_unlock(&lock);
		pthread_rwlock_unlock(&table);
		sem_post(&places);
	}
	return NULL;
}

int main(void)
{
	sem_init(&places, 0, 3);
	for (size_t at = 0; at < 6; at++)
		start_with(uses, (void *)at);
	rest();
}
