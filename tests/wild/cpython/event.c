/* SPDX-License-Identifier: Apache-2.0
 * event.c - two threads wait for a PyEvent, which the main thread notifies.
 * Claim: both waits end, and see what was written before.
 * BUG: the main thread notifies before it writes. */
#include "Python.h"
#include "pycore_lock.h"

_Thread_local PyTime_t now_ns;
static PyEvent event;
static int item;

static void *await(void *unused)
{
	PyEvent_Wait(&event);
	assert(item == 7);
	return unused;
}

int main(void)
{
	pthread_t waiters[2];

	for (int at = 0; at < 2; at++)
		pthread_create(&waiters[at], NULL, await, NULL);
#ifdef BUG
	_PyEvent_Notify(&event);
	item = 7;
#else
	item = 7;
	_PyEvent_Notify(&event);
#endif
	for (int at = 0; at < 2; at++)
		pthread_join(waiters[at], NULL);
	return 0;
}
