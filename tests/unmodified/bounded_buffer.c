/* SPDX-License-Identifier: Apache-2.0
 * bounded_buffer.c - one slot, two conditions, a producer and a consumer.
 * BUG: the consumer does not tell the producer that the slot is free. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_full = PTHREAD_COND_INITIALIZER, is_free = PTHREAD_COND_INITIALIZER;
static bool has_item;
static int item;

static void *produce(void *unused)
{
	for (int i = 1; i <= 2; i++) {
		pthread_mutex_lock(&mutex);
		while (has_item)
			pthread_cond_wait(&is_free, &mutex);
		item = i;
		has_item = true;
		pthread_cond_signal(&is_full);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t producer;

	pthread_create(&producer, NULL, produce, NULL);
	for (int i = 1; i <= 2; i++) {
		pthread_mutex_lock(&mutex);
		while (!has_item)
			pthread_cond_wait(&is_full, &mutex);
		assert(item == i);
		has_item = false;
#ifndef BUG
		pthread_cond_signal(&is_free);
#endif
		pthread_mutex_unlock(&mutex);
	}
	pthread_join(producer, NULL);
	return 0;
}
