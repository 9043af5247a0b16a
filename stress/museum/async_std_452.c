/* SPDX-License-Identifier: Apache-2.0
 * async_std_452.c - somebody has been notified already, so it notifies nobody.
 *
 * System     async-std (channel, WakerSet)
 * Issue      https://github.com/async-rs/async-std/pull/452
 * Year       2019
 * Seen       A receiver sleeps, and a message is in the channel; the tests hang now and then.
 * Mechanism  Two receivers sleep. A send notifies the first one. Before that one runs, another send
 *            finds a receiver in the set that has been notified and has not gone, and notifies
 *            nobody. The first one takes one message and goes, and the second one sleeps on.
 * Claim      A receiver is woken if there is a message for it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

enum { RECEIVERS = 2 };

static pthread_mutex_t channel = PTHREAD_MUTEX_INITIALIZER;
static int messages;
static pthread_mutex_t set = PTHREAD_MUTEX_INITIALIZER;
static struct receiver {
	bool is_in_set, is_notified;
	sem_t wakeup;
} receivers[RECEIVERS];

static void notify(void)
{
	struct receiver *chosen = NULL;

	pthread_mutex_lock(&set);
	for (int i = 0; i < RECEIVERS; i++) {
		struct receiver *one = &receivers[i];

		if (!one->is_in_set)
			continue;
#ifndef FIXED
		if (one->is_notified) {
			chosen = NULL;
			break;
		}
#endif
		if (!one->is_notified && !chosen)
			chosen = one;
	}
	if (chosen) {
		chosen->is_notified = true;
		sem_post(&chosen->wakeup);
	}
	pthread_mutex_unlock(&set);
}

static void send(void)
{
	pthread_mutex_lock(&channel);
	messages++;
	pthread_mutex_unlock(&channel);
	notify();
}

static bool try_receive(void)
{
	bool is_received;

	pthread_mutex_lock(&channel);
	is_received = messages > 0;
	messages -= is_received;
	pthread_mutex_unlock(&channel);
	return is_received;
}

static void set_in_set(struct receiver *me, bool is_in_set)
{
	pthread_mutex_lock(&set);
	me->is_in_set = is_in_set;
	me->is_notified = false;
	pthread_mutex_unlock(&set);
}

static bool is_empty(void)
{
	bool result;

	pthread_mutex_lock(&channel);
	result = !messages;
	pthread_mutex_unlock(&channel);
	return result;
}

static void *receive(void *of)
{
	struct receiver *me = of;

	while (!try_receive()) {
		set_in_set(me, true);
		if (is_empty())
			sem_wait(&me->wakeup);
		set_in_set(me, false);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[RECEIVERS];

	for (int i = 0; i < RECEIVERS; i++)
		sem_init(&receivers[i].wakeup, 0, 0);
	for (int i = 0; i < RECEIVERS; i++)
		pthread_create(&threads[i], NULL, receive, &receivers[i]);
	for (int i = 0; i < RECEIVERS; i++)
		send();
	for (int i = 0; i < RECEIVERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
