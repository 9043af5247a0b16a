/* SPDX-License-Identifier: Apache-2.0
 * columnstore_2304.c - one flag says that somebody waits, and the first one to go clears it.
 *
 * System     MariaDB ColumnStore (okToRespond)
 * Issue      https://github.com/mariadb-corporation/mariadb-columnstore-engine/pull/2304
 * Year       2022
 * Seen       Queries hang: threads wait for leave to respond, and there is room.
 * Mechanism  Who finds no room sets a flag, waits, and clears the flag when it goes on. Who makes
 *            room notifies one waiter if the flag is set. With two waiters, the first one that goes
 *            on clears the flag for both, and the second one is not notified.
 * Claim      Who waits is notified when there is room.
 * Shows      asleep asleep asleep */
#include <pthread.h>

enum { RESPONDERS = 2, ROOM = 2 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t may_respond = PTHREAD_COND_INITIALIZER;
static int responses = ROOM; /* there is no room */
static int waiters;          /* as shipped not more than one: a flag */

static void say_that_it_waits(void)
{
#ifdef FIXED
	waiters++;
#else
	waiters = 1;
#endif
}

static void say_that_it_goes_on(void)
{
#ifdef FIXED
	waiters--;
#else
	waiters = 0;
#endif
}

static void *respond(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (responses >= ROOM) {
		say_that_it_waits();
		pthread_cond_wait(&may_respond, &mutex);
		say_that_it_goes_on();
	}
	responses++;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void send_response(void)
{
	pthread_mutex_lock(&mutex);
	responses--;
	if (waiters)
		pthread_cond_signal(&may_respond);
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t threads[RESPONDERS];

	for (int i = 0; i < RESPONDERS; i++)
		pthread_create(&threads[i], NULL, respond, NULL);
	for (int i = 0; i < RESPONDERS; i++)
		send_response();
	for (int i = 0; i < RESPONDERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
