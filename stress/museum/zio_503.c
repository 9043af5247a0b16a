/* SPDX-License-Identifier: Apache-2.0
 * zio_503.c - what wakes the loop is armed at the end of a turn, so not in the first one.
 *
 * System     zio for Zig (event loop on io_uring)
 * Issue      https://github.com/lalinsky/zio/pull/503
 * Year       2026
 * Seen       Wakes from other threads are lost until a fallback 10 ms later; requests are slow.
 * Mechanism  The loop is woken by a futex wait that lies in its ring. It is put there at the end of
 *            each poll. The first poll blocks with none there, so a wake from another thread is
 *            lost. The fix has an event descriptor that is in the ring from the start.
 * Claim      A wake ends the poll that is blocked, or the next one.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static sem_t completions; /* of the ring */
static atomic_bool has_task;
#ifndef FIXED
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the futex, in the kernel */
static int word;
static bool has_waiter;
#endif

static void wake(void)
{
#ifdef FIXED
	sem_post(&completions); /* the poll of the event descriptor is always there */
#else
	pthread_mutex_lock(&mutex);
	word++;
	if (has_waiter) {
		has_waiter = false;
		sem_post(&completions);
	}
	pthread_mutex_unlock(&mutex);
#endif
}

static void arm(void)
{
#ifndef FIXED
	pthread_mutex_lock(&mutex);
	if (word)
		sem_post(&completions);
	else
		has_waiter = true;
	pthread_mutex_unlock(&mutex);
#endif
}

static void poll_ring(void)
{
	sem_wait(&completions);
	arm();
}

static void *schedule_remotely(void *unused)
{
	has_task = true;
	wake();
	return unused;
}

int main(void)
{
	pthread_t other;

	sem_init(&completions, 0, 0);
	pthread_create(&other, NULL, schedule_remotely, NULL);
	while (!has_task)
		poll_ring();
	pthread_join(other, NULL);
	return 0;
}
