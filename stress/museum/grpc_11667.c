/* SPDX-License-Identifier: Apache-2.0
 * grpc_11667.c - somebody waits for a timer already, but for a later one.
 *
 * System     gRPC core (timer manager)
 * Issue      https://github.com/grpc/grpc/issues/11667
 * Year       2017
 * Seen       A timer fires only when the next one is due.
 * Mechanism  One of the timer threads waits until the next timer is due, the others until they are
 *            kicked. A new timer, due earlier, kicks: the waiting thread wakes and looks for the
 *            next timer. A second thread, that looked before, comes to wait meanwhile, for the later
 *            timer; nobody is said to wait, so it does. The first one comes back with the earlier
 *            timer, finds that somebody waits, and waits to be kicked.
 * Claim      A thread wakes when the first timer is due.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { THREADS = 2, EARLY = 1, LATE = 2, NEVER = 3 };

static atomic_int first_timer = LATE;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static bool is_kicked, has_timed_waiter;
static int timed_waiter_deadline = NEVER;
static unsigned generation;
static sem_t fired;

static void kick(void)
{
	pthread_mutex_lock(&mutex);
	is_kicked = true;
	has_timed_waiter = false;
	timed_waiter_deadline = NEVER;
	generation++;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
}

/* Who sleeps until the earlier timer wakes when that is due; the later one is never due here. */
static bool sleep_until(int deadline)
{
	if (deadline == EARLY)
		return true;
	pthread_cond_wait(&condition, &mutex);
	return false;
}

static bool may_wait_for(int next)
{
#ifdef FIXED
	if (next < timed_waiter_deadline)
		return true;
#else
	(void)next;
#endif
	return !has_timed_waiter;
}

static bool wait_until(int next)
{
	bool is_due = false;

	pthread_mutex_lock(&mutex);
	if (!is_kicked) {
		unsigned mine = generation - 1;

		if (may_wait_for(next)) {
			mine = ++generation;
			has_timed_waiter = true;
			timed_waiter_deadline = next;
		} else {
			next = NEVER;
		}
		is_due = sleep_until(next);
		if (mine == generation) {
			has_timed_waiter = false;
			timed_waiter_deadline = NEVER;
		}
	}
	is_kicked = false;
	pthread_mutex_unlock(&mutex);
	return is_due;
}

static void *run_timers(void *unused)
{
	while (!wait_until(first_timer)) {
	}
	sem_post(&fired);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	sem_init(&fired, 0, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_timers, NULL);
	first_timer = EARLY;
	kick();
	sem_wait(&fired);
	return 0;
}
