/* SPDX-License-Identifier: Apache-2.0
 * wakeup_guard.c - a sleeper says that it sleeps and looks for work; a producer the converse.
 * BUG: no fence stands between what each says and where it looks. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#ifdef BUG
#define FENCE() ((void)0)
#else
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#endif

static atomic_int sleeps, work;
static sem_t is_woken;

static void *produce(void *unused)
{
	atomic_store_explicit(&work, 1, memory_order_release);
	FENCE();
	if (atomic_exchange_explicit(&sleeps, 0, memory_order_relaxed) == 1)
		sem_post(&is_woken);
	return NULL;
}

int main(void)
{
	pthread_t producer;

	sem_init(&is_woken, 0, 0);
	pthread_create(&producer, NULL, produce, NULL);
	atomic_store_explicit(&sleeps, 1, memory_order_relaxed);
	FENCE();
	if (!atomic_load_explicit(&work, memory_order_acquire))
		sem_wait(&is_woken);
	pthread_join(producer, NULL);
	return 0;
}
