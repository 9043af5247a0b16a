/* SPDX-License-Identifier: Apache-2.0
 * thread_pool.c - two workers take jobs until the pool closes.
 * BUG: the close wakes one worker, not all. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_changed = PTHREAD_COND_INITIALIZER;
static int jobs, done;
static bool is_closed;

static void *work(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!jobs && !is_closed)
			pthread_cond_wait(&has_changed, &mutex);
		if (!jobs)
			break;
		jobs--;
		done++;
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t workers[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	pthread_mutex_lock(&mutex);
	jobs++;
	pthread_cond_signal(&has_changed);
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&mutex);
	is_closed = true;
#ifdef BUG
	pthread_cond_signal(&has_changed);
#else
	pthread_cond_broadcast(&has_changed);
#endif
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 2; i++)
		pthread_join(workers[i], NULL);
	assert(done == 1);
	return 0;
}
