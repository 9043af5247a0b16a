/* SPDX-License-Identifier: Apache-2.0
 * eio_324.c - a broadcast to a list that the waiter is about to join.
 *
 * System     Eio 0.5 for OCaml (Eio.Condition)
 * Issue      https://github.com/ocaml-multicore/eio/pull/324
 * Year       2022
 * Seen       A fiber waits for ever for a condition that holds.
 * Mechanism  A waiter takes the lock of the condition's list, gives the user's mutex back, and joins
 *            the list. Who changes the condition needs the user's mutex only; its broadcast drains
 *            the list without the list's lock, before the waiter is in it.
 * Claim      A waiter that has seen the old condition is woken by the broadcast.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t users = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lists = PTHREAD_MUTEX_INITIALIZER;
static bool is_true; /* under the user's mutex */
static atomic_bool is_in_list;
static sem_t wakeup;

static void *await(void *unused)
{
	pthread_mutex_lock(&users);
	while (!is_true) {
		pthread_mutex_lock(&lists);
		pthread_mutex_unlock(&users);
		is_in_list = true;
		pthread_mutex_unlock(&lists);
		sem_wait(&wakeup);
		pthread_mutex_lock(&users);
	}
	pthread_mutex_unlock(&users);
	return unused;
}

static void broadcast(void)
{
#ifdef FIXED
	pthread_mutex_lock(&lists);
#endif
	if (atomic_exchange(&is_in_list, false))
		sem_post(&wakeup);
#ifdef FIXED
	pthread_mutex_unlock(&lists);
#endif
}

int main(void)
{
	pthread_t waiter;

	sem_init(&wakeup, 0, 0);
	pthread_create(&waiter, NULL, await, NULL);
	pthread_mutex_lock(&users);
	is_true = true;
	pthread_mutex_unlock(&users);
	broadcast();
	pthread_join(waiter, NULL);
	return 0;
}
