/* SPDX-License-Identifier: Apache-2.0
 * libhttpclient_983.c - the timer is set for the later one, after the earlier one.
 *
 * System     libHttpClient of Microsoft (XTaskQueue, delayed callbacks)
 * Issue      https://github.com/microsoft/libHttpClient/pull/983
 * Year       2026
 * Seen       A delayed callback runs only when another one comes, or never.
 * Mechanism  Who queues a callback that is due before all others exchanges the due time of the timer
 *            for its own, and then sets the timer. A thread may do the first, and the second only
 *            after another one, whose callback is due earlier, has done both: then the timer is set
 *            for the later one.
 * Claim      The timer is set for the callback that is due first.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { EARLY = 1, LATE = 2, NEVER = 3 };

static atomic_int due = NEVER; /* what the timer should be set for */
static atomic_int os_timer = NEVER;
static sem_t early_has_run;

static void start_timer(int time)
{
	os_timer = time;
}

static void queue_item(int time)
{
	int seen = due;
	bool is_set = false;

	while (time < seen && !is_set)
		is_set = atomic_compare_exchange_strong(&due, &seen, time);
	if (!is_set)
		return;
	start_timer(time);
#ifdef FIXED
	for (seen = due; seen < time; seen = due) {
		time = seen;
		start_timer(time);
	}
#endif
}

static void *queue_late(void *unused)
{
	queue_item(LATE);
	return unused;
}

static void clock_comes_to(int now)
{
	if (os_timer <= now)
		sem_post(&early_has_run);
}

int main(void)
{
	pthread_t other;

	sem_init(&early_has_run, 0, 0);
	pthread_create(&other, NULL, queue_late, NULL);
	queue_item(EARLY);
	pthread_join(other, NULL);
	clock_comes_to(EARLY);
	sem_wait(&early_has_run); /* for that nothing else is queued */
	return 0;
}
