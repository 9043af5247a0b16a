/* SPDX-License-Identifier: Apache-2.0
 * ocaml_14303.c - a broadcast without the mutex, before the wait.
 *
 * System     OCaml 5.4 (domain.c, backup threads)
 * Issue      https://github.com/ocaml/ocaml/pull/14303
 * Year       2025
 * Seen       A new domain hangs: it waits for the backup thread of the one that had its number.
 * Mechanism  The backup thread sees under the mutex that it has nothing to do, and is about to wait
 *            for the condition. The domain ends: it changes the message and broadcasts, without the
 *            mutex. Then the backup thread waits.
 * Claim      A backup thread that is told to end does.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>

enum { IN_BLOCKING_SECTION, TERMINATE };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int message = IN_BLOCKING_SECTION;

static void *back_up(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (message == IN_BLOCKING_SECTION)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void terminate(void)
{
#ifdef FIXED
	pthread_mutex_lock(&mutex);
#endif
	message = TERMINATE;
	pthread_cond_broadcast(&changed);
#ifdef FIXED
	pthread_mutex_unlock(&mutex);
#endif
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, back_up, NULL);
	terminate();
	pthread_join(thread, NULL);
	return 0;
}
