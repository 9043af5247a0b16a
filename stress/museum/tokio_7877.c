/* SPDX-License-Identifier: Apache-2.0
 * tokio_7877.c - it will wake others when it is done, and it waits for them.
 *
 * System     Tokio 1.49 (block_in_place)
 * Issue      https://github.com/tokio-rs/tokio/issues/7877
 * Year       2026
 * Seen       A task that waits for the answer of another one, in block_in_place, waits for ever.
 * Mechanism  A task whose budget is spent yields: its wakeup is put off into a list of the worker's
 *            thread. The next task on this thread sends it a message, hands the worker over to
 *            another thread, and blocks for the answer. The list is looked at when it is back.
 * Claim      A task that has yielded runs if a worker is free.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool run_queue; /* whether the first task is in it */
static bool deferred;         /* of this thread: the wakeup of the first task */
static sem_t unpark, answer;

static void schedule_first_task(void)
{
	run_queue = true;
	sem_post(&unpark);
}

static void wake_deferred(void)
{
	if (deferred)
		schedule_first_task();
	deferred = false;
}

static void *work(void *unused) /* the thread that the worker is handed over to */
{
	while (!atomic_exchange(&run_queue, false))
		sem_wait(&unpark);
	sem_post(&answer); /* the first task has the message, and answers */
	return unused;
}

static void block_in_place(pthread_t *other)
{
#ifdef FIXED
	wake_deferred();
#endif
	pthread_create(other, NULL, work, NULL);
	sem_wait(&answer);
}

int main(void)
{
	pthread_t other;

	sem_init(&unpark, 0, 0);
	sem_init(&answer, 0, 0);
	deferred = true;        /* the first task yields */
	block_in_place(&other); /* the second task has sent its message */
	wake_deferred();
	pthread_join(other, NULL);
	return 0;
}
