/* SPDX-License-Identifier: Apache-2.0
 * grpc_34497.c - one finds no data and leaves a callback, the other finds no callback.
 *
 * System     gRPC (EventEngine on Windows, WinSocket)
 * Issue      https://github.com/grpc/grpc/pull/34497
 * Year       2023
 * Seen       A read never completes, though its data has been received.
 * Mechanism  Who wants to read looks whether an event is there, and if not, stores a callback. The
 *            poller that gets the event looks whether a callback is there, and if not, stores the
 *            event. Both may look before either one stores.
 * Claim      The callback is run when there is an event.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool has_event, has_callback;
static sem_t callback_has_run;
#ifdef FIXED
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock(void)
{
#ifdef FIXED
	pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void)
{
#ifdef FIXED
	pthread_mutex_unlock(&mutex);
#endif
}

static void meet(atomic_bool *other, atomic_bool *mine)
{
	bool is_there;

	lock();
	is_there = atomic_exchange(other, false);
	if (!is_there)
		*mine = true;
	unlock();
	if (is_there)
		sem_post(&callback_has_run);
}

static void *set_ready(void *unused)
{
	meet(&has_callback, &has_event);
	return unused;
}

static void notify_on_read(void)
{
	meet(&has_event, &has_callback);
}

int main(void)
{
	pthread_t poller;

	sem_init(&callback_has_run, 0, 0);
	pthread_create(&poller, NULL, set_ready, NULL);
	notify_on_read();
	sem_wait(&callback_has_run);
	pthread_join(poller, NULL);
	return 0;
}
