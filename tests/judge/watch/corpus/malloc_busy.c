/* SPDX-License-Identifier: Apache-2.0
 * malloc_busy.c - threads allocate and free, and start others.
 *
 * Class      healthy */
#include "hang.h"

static void *once(void *arg)
{
	free(malloc(100));
	return arg;
}

static void *allocates(void *arg)
{
	for (;;) {
		void *memory = malloc(100000);

		pthread_join(start(once), NULL);
		usleep(100);
		free(memory);
	}
	return arg;
}

int main(void)
{
	for (int at = 0; at < 4; at++)
		start(allocates);
	rest();
}
