/* SPDX-License-Identifier: Apache-2.0
 * mutex.c - threads add to a counter under a PyMutex.  With -DFAIR, who unlocks sees that the waiter
 * waits for long, and hands the mutex over.
 * Claim: one thread at a time has the mutex, and who waits for it gets it.
 * BUG: a thread adds without the mutex. */
#include "Python.h"

#ifndef THREADS
#define THREADS 2
#endif

_Thread_local PyTime_t now_ns;
static PyMutex mutex;
static int counter;

static void *add(void *unused)
{
	PyMutex_Lock(&mutex);
	counter++;
#ifdef FAIR
	now_ns = 2000000;
#endif
	PyMutex_Unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t others[THREADS - 1];

	for (int at = 0; at < THREADS - 1; at++)
		pthread_create(&others[at], NULL, add, NULL);
#ifdef BUG
	counter++;
#else
	add(NULL);
#endif
	for (int at = 0; at < THREADS - 1; at++)
		pthread_join(others[at], NULL);
	assert(counter == THREADS);
	return 0;
}
