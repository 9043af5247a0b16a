/* SPDX-License-Identifier: Apache-2.0
 * raw_mutex.c - threads add to a counter under a _PyRawMutex, which keeps its waiters in a list on
 * their stacks.
 * Claim: one thread at a time has the mutex, and who waits for it gets it.
 * BUG: a thread adds without the mutex. */
#include "Python.h"
#include "pycore_lock.h"

#ifndef THREADS
#define THREADS 2
#endif

_Thread_local PyTime_t now_ns;
static _PyRawMutex mutex;
static int counter;

static void *add(void *unused)
{
	_PyRawMutex_Lock(&mutex);
	counter++;
	_PyRawMutex_Unlock(&mutex);
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
