/* SPDX-License-Identifier: Apache-2.0
 * yo_799.c - the waker is dropped, and with it the wake that it has sent.
 *
 * System     Yo (async runtime, spawn_blocking)
 * Issue      https://github.com/shd101wyy/Yo/pull/799
 * Year       2026
 * Seen       A test leg hangs for hours: a task is parked, and nobody holds a waker.
 * Mechanism  A worker thread wakes a task of another loop: it puts the waker's token into the loop's
 *            inbox. Then the loop drops its own copy of the waker, the last one, and clears the
 *            token's task at once. When it empties the inbox, the token is of no task.
 * Claim      A task that was woken runs.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { PARKED, DONE };

static struct token {
	int *task; /* only its loop touches it */
	atomic_int copies;
	atomic_bool is_queued; /* in the inbox, which has one place */
} token;
static sem_t inbox; /* how many notes came: tokens and releases */

static void wake(void)
{
	if (!atomic_exchange(&token.is_queued, true))
		sem_post(&inbox);
}

static void drop_copy_by_worker(void)
{
	if (atomic_fetch_sub(&token.copies, 1) == 1)
		sem_post(&inbox); /* the loop does the rest, after what came before */
}

static void release_task(void)
{
	if (!token.copies && !token.is_queued)
		token.task = NULL;
}

static void drop_copy_by_loop(void)
{
	if (atomic_fetch_sub(&token.copies, 1) != 1)
		return;
#ifdef FIXED
	release_task(); /* if there is a wake on its way, when that is done */
#else
	token.task = NULL;
#endif
}

static void empty_inbox(void)
{
	if (atomic_exchange(&token.is_queued, false) && token.task)
		*token.task = DONE;
	release_task();
}

static void *work(void *unused)
{
	wake();
	drop_copy_by_worker();
	return unused;
}

int main(void)
{
	int task = PARKED;
	pthread_t worker;

	sem_init(&inbox, 0, 0);
	token.task = &task;
	token.copies = 2;
	pthread_create(&worker, NULL, work, NULL);
	drop_copy_by_loop();
	while (task != DONE) {
		sem_wait(&inbox);
		empty_inbox();
	}
	pthread_join(worker, NULL);
	return 0;
}
