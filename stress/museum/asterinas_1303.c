/* SPDX-License-Identifier: Apache-2.0
 * asterinas_1303.c - what was before the subtraction is taken for what is after it.
 *
 * System     Asterinas (RwMutex)
 * Issue      https://github.com/asterinas/asterinas/pull/1309
 * Year       2024
 * Seen       A thread waits for a lock that nobody has.
 * Mechanism  A reader that could have become a writer releases the lock: it subtracts its bit, and
 *            wakes the waiters if nothing is left. The subtraction returns the value before it,
 *            which is never 0, so nobody is woken.
 * Claim      Who waits for the lock gets it when it is released.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { UPGRADEABLE_READER = 1, WRITER = 2 };

static atomic_int lock = UPGRADEABLE_READER;
static atomic_bool is_queued; /* the queue has one place */
static sem_t wakeup;

static bool try_write(void)
{
	int nobody = 0;

	return atomic_compare_exchange_strong(&lock, &nobody, WRITER);
}

static void *write_lock(void *unused)
{
	while (!try_write()) {
		is_queued = true;
		if (try_write())
			break;
		sem_wait(&wakeup);
	}
	return unused;
}

static void wake_all(void)
{
	if (atomic_exchange(&is_queued, false))
		sem_post(&wakeup);
}

static void release_upgradeable(void)
{
	int before = atomic_fetch_sub(&lock, UPGRADEABLE_READER);

#ifdef FIXED
	if (before == UPGRADEABLE_READER)
#else
	if (before == 0)
#endif
		wake_all();
}

int main(void)
{
	pthread_t writer;

	sem_init(&wakeup, 0, 0);
	pthread_create(&writer, NULL, write_lock, NULL);
	release_upgradeable();
	pthread_join(writer, NULL);
	return 0;
}
