/* SPDX-License-Identifier: Apache-2.0
 * eio_110.c - the one that is woken has just been cancelled.
 *
 * System     Eio 0.1 for OCaml (Waiters.wake_one)
 * Issue      https://github.com/ocaml-multicore/eio/pull/110
 * Year       2021
 * Seen       A fiber is not woken, although wake_one was called and it waits.
 * Mechanism  wake_one takes the first waiter from the line and resumes it. With several domains that
 *            waiter may be cancelled at the same time; then the resume does nothing, and nobody else
 *            is woken.
 * Claim      wake_one wakes a waiter if there is one.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { WAITERS = 2, WAITS = 0, RESUMED, CANCELLED };

static struct waiter {
	atomic_int state;
	sem_t resumed;
} line[WAITERS]; /* both are in line when it begins */
static atomic_int gone;

static bool end_wait(struct waiter *waiter, int state)
{
	int waits = WAITS;

	return atomic_compare_exchange_strong(&waiter->state, &waits, state);
}

/* The first one leaves the line; NULL: nobody is in it. */
static struct waiter *pop(void)
{
	int first = atomic_fetch_add(&gone, 1);

	return first < WAITERS ? &line[first] : NULL;
}

static void wake_one(void)
{
	struct waiter *waiter;

	while ((waiter = pop())) {
		bool is_woken = end_wait(waiter, RESUMED);

		if (is_woken)
			sem_post(&waiter->resumed);
#ifdef FIXED
		if (is_woken)
			return;
#else
		return; /* it was this one's turn */
#endif
	}
}

static void *first(void *unused)
{
	if (!end_wait(&line[0], CANCELLED))
		wake_one(); /* it was resumed, and has no use for that: passes it on */
	return unused;
}

static void *second(void *unused)
{
	sem_wait(&line[1].resumed);
	return unused;
}

int main(void)
{
	pthread_t threads[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		sem_init(&line[i].resumed, 0, 0);
	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	wake_one();
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
