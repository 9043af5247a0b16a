/* SPDX-License-Identifier: Apache-2.0
 * handover.c - two threads wait for an item each, and a third one gives two.
 * Claim: who gives an item and signals wakes one that waits for it.
 * BUG: one signal for both items. */
#include "condition.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_item = PTHREAD_COND_INITIALIZER;
static int items;

int unlock_to_wait(pthread_mutex_t *held)
{
	return pthread_mutex_unlock(held);
}

int lock_after_wait(pthread_mutex_t *wanted)
{
	return pthread_mutex_lock(wanted);
}

static void *take(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (items == 0)
		___pthread_cond_wait(&has_item, &mutex);
	items--;
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t takers[TAKERS];

	for (int at = 0; at < TAKERS; at++)
		pthread_create(&takers[at], NULL, take, NULL);
#ifdef BUG
	pthread_mutex_lock(&mutex);
	items = TAKERS;
	___pthread_cond_signal(&has_item);
	pthread_mutex_unlock(&mutex);
#else
	for (int at = 0; at < TAKERS; at++) {
		pthread_mutex_lock(&mutex);
		items++;
		___pthread_cond_signal(&has_item);
		pthread_mutex_unlock(&mutex);
	}
#endif
	for (int at = 0; at < TAKERS; at++)
		pthread_join(takers[at], NULL);
	return 0;
}
