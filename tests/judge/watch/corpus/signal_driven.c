/* SPDX-License-Identifier: Apache-2.0
 * signal_driven.c - a thread waits for a semaphore that a signal's handler posts.
 *
 * Class      healthy */
#include <signal.h>

#include "hang.h"

static sem_t stop;

static void on_stop(int number)
{
	(void)number;
	sem_post(&stop);
}

int main(void)
{
	sem_init(&stop, 0, 0);
	signal(SIGUSR1, on_stop);
	while (sem_wait(&stop) != 0)
		continue;
	return 0;
}
