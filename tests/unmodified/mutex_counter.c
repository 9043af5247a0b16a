/* SPDX-License-Identifier: Apache-2.0
 * mutex_counter.c - two threads count under a mutex.
 * BUG: one of them forgets the mutex. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *careful(void *unused)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *careless(void *unused)
{
#ifdef BUG
	count++;
	return NULL;
#else
	return careful(unused);
#endif
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, careful, NULL);
	pthread_create(&other, NULL, careless, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	assert(count == 4);
	return 0;
}
