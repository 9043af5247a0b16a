/* SPDX-License-Identifier: Apache-2.0
 * loom_59.c - one permit for two waits, and the inner one takes it.
 *
 * System     OpenJDK, Project Loom (virtual threads on a fixed pool)
 * Issue      https://github.com/openjdk/loom/pull/59
 * Year       2021
 * Seen       A virtual thread that was unparked stays parked.
 * Mechanism  To unpark another thread, a virtual thread puts it into the queue of the scheduler,
 *            which has a lock. If the lock is taken it parks, by its own permit. An unpark that is
 *            meant for what it does later comes now: it takes the permit, finds the lock taken, and
 *            parks again for the lock. When it parks later, the permit is gone.
 * Claim      An unpark ends the next park of the program.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct permit {
	pthread_mutex_t mutex;
	pthread_cond_t given;
	bool is_there;
};

#define PERMIT {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}

static struct permit virtual_thread = PERMIT;
#ifdef FIXED
static struct permit carrier = PERMIT; /* the thread that runs it */
static struct permit *const waits_for_lock = &carrier;
#else
static struct permit *const waits_for_lock = &virtual_thread;
#endif

static atomic_bool is_locked = true, is_queued; /* the lock of the scheduler's queue */

static void unpark(struct permit *permit)
{
	pthread_mutex_lock(&permit->mutex);
	permit->is_there = true;
	pthread_cond_signal(&permit->given);
	pthread_mutex_unlock(&permit->mutex);
}

static void park(struct permit *permit)
{
	pthread_mutex_lock(&permit->mutex);
	while (!permit->is_there)
		pthread_cond_wait(&permit->given, &permit->mutex);
	permit->is_there = false;
	pthread_mutex_unlock(&permit->mutex);
}

static void lock(void)
{
	is_queued = true;
	while (atomic_exchange(&is_locked, true))
		park(waits_for_lock);
	is_queued = false;
}

static void unlock(void)
{
	is_locked = false;
	if (is_queued)
		unpark(waits_for_lock);
}

static void *run(void *unused)
{
	lock(); /* it unparks another thread, whose entry goes into the queue */
	unlock();
	park(&virtual_thread);
	return unused;
}

static void *unpark_it(void *unused)
{
	unpark(&virtual_thread);
	return unused;
}

int main(void)
{
	pthread_t thread, waker;

	pthread_create(&thread, NULL, run, NULL);
	pthread_create(&waker, NULL, unpark_it, NULL);
	unlock(); /* another thread has put something into the queue */
	pthread_join(waker, NULL);
	pthread_join(thread, NULL);
	return 0;
}
