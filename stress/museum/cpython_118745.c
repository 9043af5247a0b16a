/* SPDX-License-Identifier: Apache-2.0
 * cpython_118745.c - it waits until another thread has had the lock that it has just abolished.
 *
 * System     CPython 3.13, free-threaded, before its release
 * Issue      https://github.com/python/cpython/pull/118745
 * Year       2024
 * Seen       Tests of threads with interpreters hang, when the GIL is disabled.
 * Mechanism  A thread disables the GIL and drops it. As another thread has asked for it, it waits
 *            until that one has taken it, to be fair. The other one gets the lock, sees that the
 *            GIL is disabled, and lets go of it without a signal to the first one.
 * Claim      A thread that gives the GIL up goes on.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { FIRST = 1, SECOND };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;
static bool is_locked = true, is_enabled = true; /* under the mutex */
static atomic_bool drop_request;

static pthread_mutex_t switch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t was_switched = PTHREAD_COND_INITIALIZER;
static int last_holder = FIRST; /* under the mutex of the switch */

static void *take_gil(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (is_locked) {
		drop_request = true;
		pthread_cond_wait(&is_free, &mutex);
	}
	if (!is_enabled) {
		pthread_cond_signal(&is_free);
		pthread_mutex_unlock(&mutex);
		return unused;
	}
	pthread_mutex_lock(&switch_mutex);
	is_locked = true;
	last_holder = SECOND;
	pthread_cond_signal(&was_switched);
	pthread_mutex_unlock(&switch_mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void drop_gil(void)
{
	pthread_mutex_lock(&mutex);
	is_locked = false;
	pthread_cond_signal(&is_free);
	pthread_mutex_unlock(&mutex);
}

#ifndef FIXED
static void force_switch(void)
{
	if (!drop_request)
		return;
	pthread_mutex_lock(&switch_mutex);
	while (last_holder == FIRST)
		pthread_cond_wait(&was_switched, &switch_mutex);
	pthread_mutex_unlock(&switch_mutex);
}
#endif

static void disable_gil(void)
{
	pthread_mutex_lock(&mutex);
	is_enabled = false;
	pthread_mutex_unlock(&mutex);
	drop_gil();
#ifndef FIXED
	force_switch();
#endif
}

int main(void)
{
	pthread_t second;

	pthread_create(&second, NULL, take_gil, NULL);
	disable_gil();
	pthread_join(second, NULL);
	return 0;
}
