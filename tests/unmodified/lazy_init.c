/* SPDX-License-Identifier: Apache-2.0
 * lazy_init.c - the first of two threads makes an object; double-checked.
 * BUG: the check without the mutex is relaxed. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BUG
#define CHECK memory_order_relaxed
#else
#define CHECK memory_order_acquire
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int object;
static _Atomic(int *) made;

static void *use(void *unused)
{
	int *found = atomic_load_explicit(&made, CHECK);

	if (!found) {
		pthread_mutex_lock(&mutex);
		found = atomic_load_explicit(&made, memory_order_relaxed);
		if (!found) {
			object = 7;
			found = &object;
			atomic_store_explicit(&made, found, memory_order_release);
		}
		pthread_mutex_unlock(&mutex);
	}
	assert(*found == 7);
	return NULL;
}

int main(void)
{
	pthread_t one, other;

	pthread_create(&one, NULL, use, NULL);
	pthread_create(&other, NULL, use, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
