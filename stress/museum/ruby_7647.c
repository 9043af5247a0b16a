/* SPDX-License-Identifier: Apache-2.0
 * ruby_7647.c - it was awake for a moment, when the end was told to those who sleep.
 *
 * System     Ruby, in development (Thread#join)
 * Issue      https://github.com/ruby/ruby/pull/7647
 * Year       2023
 * Seen       "No live threads left. Deadlock?", in a program that joins a thread that has ended.
 * Mechanism  A thread that joins another one marks itself as asleep, and then looks for signals.
 *            While a signal's handler runs it is marked as awake, and another thread may get the
 *            lock of the interpreter. If the one that is joined ends then, it wakes those that are
 *            asleep, which this one is not. After the handler it is marked as asleep again, and
 *            sleeps without a look at what it waits for.
 * Claim      Who joins a thread goes on when that has ended.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdbool.h>

enum status { RUNNABLE, STOPPED_FOREVER };

static pthread_mutex_t interpreter = PTHREAD_MUTEX_INITIALIZER; /* everything is under it */
static pthread_cond_t wakeup = PTHREAD_COND_INITIALIZER;
static enum status status;
static bool has_signal = true, has_ended;

/* Runs the handler of a signal, and lets another thread run at the end of that. */
static void check_interrupts(void)
{
	if (!has_signal)
		return;
	has_signal = false;
	status = RUNNABLE;
	pthread_mutex_unlock(&interpreter);
	pthread_mutex_lock(&interpreter);
}

static void sleep_forever(void)
{
	status = STOPPED_FOREVER;
#ifdef FIXED
	if (has_signal)
		return; /* to the one who waits, who looks again */
#else
	check_interrupts();
	status = STOPPED_FOREVER;
#endif
	while (status == STOPPED_FOREVER)
		pthread_cond_wait(&wakeup, &interpreter);
}

static void join(void)
{
	while (!has_ended) {
		sleep_forever();
#ifdef FIXED
		check_interrupts();
#endif
	}
	status = RUNNABLE;
}

static void *end(void *unused)
{
	pthread_mutex_lock(&interpreter);
	has_ended = true;
	if (status == STOPPED_FOREVER) {
		status = RUNNABLE;
		pthread_cond_signal(&wakeup);
	}
	pthread_mutex_unlock(&interpreter);
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end, NULL);
	pthread_mutex_lock(&interpreter);
	join();
	pthread_mutex_unlock(&interpreter);
	pthread_join(thread, NULL);
	return 0;
}
