/* SPDX-License-Identifier: Apache-2.0
 * webkit_7048.c - the value is read before the list of waiters is locked.
 *
 * System     WebKit, JavaScriptCore (Atomics.wait)
 * Issue      https://github.com/WebKit/WebKit/pull/7048
 * Year       2022
 * Seen       Workers hang in Atomics.wait; the memory holds a value for which they should not wait.
 * Mechanism  Atomics.wait reads the word and compares it, then locks the list of waiters and adds
 *            itself. A store and a notify in between find nobody in the list. The standard has the
 *            read under the lock.
 * Claim      Who waits for a value that is gone when it is notified goes on.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct waiter { /* the list has one place */
	bool is_there, is_notified;
	pthread_cond_t condition;
} waiter = {.condition = PTHREAD_COND_INITIALIZER};
static atomic_int word;

static void wait_for(int expected)
{
#ifndef FIXED
	if (word != expected)
		return;
#endif
	pthread_mutex_lock(&mutex);
#ifdef FIXED
	if (word != expected) {
		pthread_mutex_unlock(&mutex);
		return;
	}
#endif
	waiter.is_there = true;
	while (!waiter.is_notified)
		pthread_cond_wait(&waiter.condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void notify(void)
{
	pthread_mutex_lock(&mutex);
	if (waiter.is_there) {
		waiter.is_notified = true;
		pthread_cond_signal(&waiter.condition);
	}
	pthread_mutex_unlock(&mutex);
}

static void *work(void *unused)
{
	wait_for(0);
	return unused;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	word = 1;
	notify();
	pthread_join(worker, NULL);
	return 0;
}
