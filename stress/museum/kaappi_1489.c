/* SPDX-License-Identifier: Apache-2.0
 * kaappi_1489.c - a fiber beside it uses up its registration, and it parks without one.
 *
 * System     Kaappi Scheme (channels between threads)
 * Issue      https://github.com/kaappi/kaappi/issues/1489
 * Year       2026
 * Seen       A receive on a channel hangs for ever, in 8 of 100 runs of a pool.
 * Mechanism  A receive that finds the channel empty registers its thread's notifier, once, and lets
 *            other fibers of the thread run. One of them sends to the same channel, which takes the
 *            registration, and receives that itself; the scheduler takes the ring between. The
 *            receiver then looks again, with a peek that does not register, finds the channel empty,
 *            and parks. The next send of another thread finds nobody to notify.
 * Claim      A receiver that parks is woken by the next send.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

static sem_t notifier; /* of the receiver's thread */
static pthread_mutex_t channel = PTHREAD_MUTEX_INITIALIZER;
static int values;
static bool is_registered; /* for one send */

static void send(void)
{
	bool is_wanted;

	pthread_mutex_lock(&channel);
	values++;
	is_wanted = is_registered;
	is_registered = false;
	pthread_mutex_unlock(&channel);
	if (is_wanted)
		sem_post(&notifier);
}

/* Takes a value, or else registers. Returns whether there was one. */
static bool try_receive(void)
{
	bool has_value;

	pthread_mutex_lock(&channel);
	has_value = values > 0;
	if (has_value)
		values--;
	else
		is_registered = true;
	pthread_mutex_unlock(&channel);
	return has_value;
}

#ifndef FIXED
static bool is_ready(void)
{
	bool has_value;

	pthread_mutex_lock(&channel);
	has_value = values > 0;
	pthread_mutex_unlock(&channel);
	return has_value;
}
#endif

/* A fiber of the receiver's thread that sends, and takes a value, its own or another. */
static void run_sibling(void)
{
	static bool has_run;

	if (has_run)
		return;
	has_run = true;
	send();
	sem_trywait(&notifier); /* the scheduler between them: no fiber is parked yet */
	try_receive();
}

static void receive(void)
{
	while (!try_receive()) {
		run_sibling();
#ifdef FIXED
		if (try_receive())
			return;
#else
		if (is_ready())
			continue;
#endif
		sem_wait(&notifier);
	}
}

static void *send_from_afar(void *unused)
{
	send();
	return unused;
}

int main(void)
{
	pthread_t peer;

	sem_init(&notifier, 0, 0);
	pthread_create(&peer, NULL, send_from_afar, NULL);
	receive();
	pthread_join(peer, NULL);
	return 0;
}
