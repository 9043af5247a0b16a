/* SPDX-License-Identifier: Apache-2.0
 * hang.h - what the programs of the corpus share. */
#ifndef HANG_H
#define HANG_H

#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* Sleeps until a signal comes, as a program that is well and has nothing to do. */
UNUSED _Noreturn static void rest(void)
{
	for (;;)
		pause();
}

/* Lets the other threads come to their sleep. */
UNUSED static void settle(void)
{
	usleep(100000);
}

UNUSED static pthread_t start_with(void *(*runs)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, runs, arg) != 0)
		abort();
	return thread;
}

UNUSED static pthread_t start(void *(*runs)(void *))
{
	return start_with(runs, NULL);
}

UNUSED static unsigned parties = 2;

/* Waits until that many threads have come. */
UNUSED static void meet(void)
{
	static pthread_barrier_t barrier;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool is_made;

	pthread_mutex_lock(&lock);
	if (!is_made)
		pthread_barrier_init(&barrier, NULL, parties);
	is_made = true;
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&barrier);
}

UNUSED static void futex(uint32_t *word, int operation, uint32_t value)
{
	syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

#endif
