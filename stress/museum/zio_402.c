/* SPDX-License-Identifier: Apache-2.0
 * zio_402.c - the waiters stay in the old table, and the waker looks into the new one.
 *
 * System     zio for Zig, with io_uring of Linux 6.17
 * Issue      https://github.com/lalinsky/zio/pull/402
 * Year       2026
 * Seen       The event loop hangs, from when a second thread is started.
 * Mechanism  A private futex is looked up in the table of its process. While there is one thread,
 *            the process has no table, and the kernel puts the waiter into the one of all. The
 *            first new thread gives the process a table, and the waiters are not moved. A wake
 *            looks there and finds nobody. A shared futex is always in the table of all.
 * Claim      Who waits on a word is woken by a wake on it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

struct table {
	bool has_waiter; /* under the mutex */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table global, private, *of_process;
static int word;
static sem_t completions; /* of the ring */

static struct table *table(void)
{
#ifdef FIXED
	return &global;
#else
	return of_process ? of_process : &global;
#endif
}

/* The wait is in the ring: the loop itself waits for a completion. */
static void arm_wait(int expected)
{
	pthread_mutex_lock(&mutex);
	if (word == expected)
		table()->has_waiter = true;
	else
		sem_post(&completions);
	pthread_mutex_unlock(&mutex);
}

static void *work_in_pool(void *unused)
{
	struct table *here;

	pthread_mutex_lock(&mutex);
	word = 1;
	here = table();
	if (here->has_waiter) {
		here->has_waiter = false;
		sem_post(&completions);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *start_thread(void *unused)
{
	pthread_mutex_lock(&mutex);
	of_process = &private;
	pthread_mutex_unlock(&mutex);
	return work_in_pool(unused);
}

int main(void)
{
	pthread_t pool;

	sem_init(&completions, 0, 0);
	pthread_create(&pool, NULL, start_thread, NULL);
	arm_wait(0);
	sem_wait(&completions);
	pthread_join(pool, NULL);
	return 0;
}
