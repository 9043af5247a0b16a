/* SPDX-License-Identifier: Apache-2.0
 * uvloop_720.c - the length of the queue is counted beside it, by everybody.
 *
 * System     uvloop 0.22.1, with free-threaded CPython
 * Issue      https://github.com/MagicStack/uvloop/issues/720
 * Year       2026
 * Seen       A callback of call_soon_threadsafe is not called; the program hangs.
 * Mechanism  The queue itself can be used by several threads. Its length is kept in a field beside
 *            it, which each thread updates by a load and a store. Two additions at once count one
 *            callback; the loop believes that it has run all, and waits.
 * Claim      A callback that was added is called.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { CALLERS = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the queue */
static int queued;
static atomic_int ready_len; /* relaxed below: in the original it is a plain field */
static sem_t wakeup;

static int load_len(void)
{
	return atomic_load_explicit(&ready_len, memory_order_relaxed);
}

static void store_len(int length)
{
	atomic_store_explicit(&ready_len, length, memory_order_relaxed);
}

static void *call_soon_threadsafe(void *unused)
{
	pthread_mutex_lock(&mutex);
	queued++;
	pthread_mutex_unlock(&mutex);
	store_len(load_len() + 1);
	sem_post(&wakeup);
	return unused;
}

/* Runs as many callbacks as there should be. Returns how many. */
static int run_ready(void)
{
	int count, ran = 0;

	pthread_mutex_lock(&mutex);
#ifdef FIXED
	count = queued;
#else
	count = load_len();
#endif
	for (; ran < count && queued; ran++)
		queued--;
	pthread_mutex_unlock(&mutex);
	store_len(load_len() - ran);
	return ran;
}

int main(void)
{
	pthread_t callers[CALLERS];

	sem_init(&wakeup, 0, 0);
	for (int i = 0; i < CALLERS; i++)
		pthread_create(&callers[i], NULL, call_soon_threadsafe, NULL);
	for (int ran = 0; ran < CALLERS; ran += run_ready())
		sem_wait(&wakeup);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(callers[i], NULL);
	return 0;
}
