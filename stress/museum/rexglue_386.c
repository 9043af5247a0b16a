/* SPDX-License-Identifier: Apache-2.0
 * rexglue_386.c - it says that it is suspended, and counts that later.
 *
 * System     ReXGlue SDK 0.8.0 (PosixThread; also in Xenia)
 * Issue      https://github.com/rexglue/rexglue-sdk/issues/386
 * Year       2026
 * Seen       A guest thread that was created suspended never starts; the game hangs while it loads.
 * Mechanism  The new thread publishes its state in one critical section, and sets its suspend count
 *            to 1 in a second one, where it waits. A resume in between sees that the thread has
 *            started and that its count is 0, and does nothing.
 * Claim      A thread that is resumed runs.
 * Shows      asleep asleep asleep */
#include <pthread.h>

enum { UNINITIALIZED, SUSPENDED };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int state = UNINITIALIZED, suspend_count;

static void *start(void *unused)
{
	pthread_mutex_lock(&mutex);
	state = SUSPENDED;
#ifdef FIXED
	suspend_count = 1;
#endif
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);

	pthread_mutex_lock(&mutex);
#ifndef FIXED
	suspend_count = 1;
#endif
	while (suspend_count)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void resume(void)
{
	pthread_mutex_lock(&mutex);
	while (state == UNINITIALIZED)
		pthread_cond_wait(&changed, &mutex);
	if (suspend_count) {
		suspend_count--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, NULL);
	resume();
	pthread_join(thread, NULL);
	return 0;
}
