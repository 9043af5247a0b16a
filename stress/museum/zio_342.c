/* SPDX-License-Identifier: Apache-2.0
 * zio_342.c - a task that was woken for nothing arms itself again, and does not look again.
 *
 * System     zio for Zig (waitTask)
 * Issue      https://github.com/lalinsky/zio/pull/342
 * Year       2026
 * Seen       A task that waits for a notification is parked for ever.
 * Mechanism  A task that was resumed for another reason sees that there is no notification yet, and
 *            says again that it prepares to wait. A signal between the two finds the task ready,
 *            and does nothing to it.
 * Claim      A task that was notified runs.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { READY, PREPARING_TO_WAIT };

static atomic_bool is_notified;
static atomic_int state = PREPARING_TO_WAIT;
static sem_t queue; /* the task is in it so many times */

static void schedule_task(void)
{
	int seen = PREPARING_TO_WAIT;

	if (atomic_compare_exchange_strong(&state, &seen, READY))
		sem_post(&queue);
}

static void *notify(void *unused)
{
	is_notified = true;
	schedule_task();
	return unused;
}

static void *disturb(void *unused) /* a cancel that does not concern it */
{
	schedule_task();
	return unused;
}

static void wait_task(void)
{
	for (;;) {
		sem_wait(&queue); /* the task is parked */
		if (is_notified)
			return;
		state = PREPARING_TO_WAIT;
#ifdef FIXED
		if (is_notified)
			return;
#endif
	}
}

int main(void)
{
	pthread_t threads[2];

	sem_init(&queue, 0, 0);
	pthread_create(&threads[0], NULL, disturb, NULL);
	pthread_create(&threads[1], NULL, notify, NULL);
	wait_task();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
