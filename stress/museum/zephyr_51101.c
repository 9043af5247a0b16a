/* SPDX-License-Identifier: Apache-2.0
 * zephyr_51101.c - it is woken and run elsewhere, while it still goes to sleep here.
 *
 * System     Zephyr (kernel, SMP)
 * Issue      https://github.com/zephyrproject-rtos/zephyr/pull/51101
 * Year       2022
 * Seen       A thread may run on a stack that another processor still uses; its author found it.
 * Mechanism  A thread that waits puts itself into the queue of those who wait, and lets go of the
 *            scheduler's lock before it switches to another thread. A processor that wakes it in
 *            between may run it, on a stack that the first processor still uses.
 * Claim      A thread is run when its context was saved.
 * Shows      assertion assertion assertion */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum state { RUNNING, PENDING, READY };

static pthread_mutex_t scheduler = PTHREAD_MUTEX_INITIALIZER;
static struct thread {
	enum state state; /* under the scheduler's lock */
	atomic_bool is_saved;
} thread;

static void pend(void)
{
	thread.state = PENDING;
}

static void swap(void)
{
	thread.is_saved = true; /* and this processor has another stack from here on */
}

static void pend_current(void)
{
	pthread_mutex_lock(&scheduler);
	pend();
#ifndef FIXED
	pthread_mutex_unlock(&scheduler);
	pthread_mutex_lock(&scheduler);
#endif
	swap();
	pthread_mutex_unlock(&scheduler);
}

static void *wake_and_run(void *unused)
{
	bool is_mine;

	pthread_mutex_lock(&scheduler);
	if (thread.state == PENDING)
		thread.state = READY;
	is_mine = thread.state == READY;
	if (is_mine)
		thread.state = RUNNING;
	pthread_mutex_unlock(&scheduler);
	if (is_mine)
		assert(thread.is_saved);
	return unused;
}

int main(void)
{
	pthread_t processor;

	pthread_create(&processor, NULL, wake_and_run, NULL);
	pend_current();
	pthread_join(processor, NULL);
	return 0;
}
