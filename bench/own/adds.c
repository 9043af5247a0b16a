/* SPDX-License-Identifier: Apache-2.0
 * adds.c - seven threads that each add 1 to a counter: 5,040 executions under each model. */
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 7 };

static atomic_int counter;

static void *add(void *unused)
{
	counter++;
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, add, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return counter != THREADS;
}
