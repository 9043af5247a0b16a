/* SPDX-License-Identifier: Apache-2.0
 * coreclr_14015.c - a request for a thread is done with after the look into the queue.
 *
 * System     .NET Core (thread pool), in development
 * Issue      https://github.com/dotnet/coreclr/pull/14015
 * Year       2017
 * Seen       Nothing yet: it was found, and taken back, when another hang was looked into.
 * Mechanism  There is one request for a thread at most. A worker that has found no item takes the
 *            request back after that. An item that is added in between finds the request still
 *            there and makes none, and the worker goes.
 * Claim      An item in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ITEMS = 2 };

static atomic_int queued, requests;
static sem_t threads; /* that were requested */

static bool dequeue(void)
{
	int count = queued;

	while (count && !atomic_compare_exchange_weak(&queued, &count, count - 1)) {
	}
	return count > 0;
}

static void ensure_thread_requested(void)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&requests, &none, 1))
		sem_post(&threads);
}

static void enqueue(void)
{
	queued++;
	ensure_thread_requested();
}

/* Returns whether it has run an item. */
static bool dispatch(void)
{
	bool has_item;

#ifdef FIXED
	requests--;
#endif
	has_item = dequeue();
#ifndef FIXED
	requests--;
#endif
	if (has_item)
		ensure_thread_requested(); /* there may be more */
	return has_item;
}

static void *add_another(void *unused)
{
	enqueue();
	return unused;
}

int main(void)
{
	pthread_t other;

	sem_init(&threads, 0, 0);
	enqueue();
	pthread_create(&other, NULL, add_another, NULL);
	for (int done = 0; done < ITEMS; done += dispatch())
		sem_wait(&threads);
	pthread_join(other, NULL);
	return 0;
}
