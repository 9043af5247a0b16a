/* SPDX-License-Identifier: Apache-2.0
 * steady.c - two threads hand a turn to each other, or one signals to nobody, and are measured.
 *
 * Class      healthy
 *
 * steady [signals] [SECONDS] ends with the nanoseconds of CPU time that a round took. */
#include <stdio.h>
#include <time.h>

#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned long rounds;

static void *takes_turns(void *arg)
{
	unsigned long own = (unsigned long)(size_t)arg;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (rounds % 2 != own)
			pthread_cond_wait(&cond, &lock);
		__atomic_store_n(&rounds, rounds + 1, __ATOMIC_RELAXED);
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *signals(void *none)
{
	for (;;) {
		pthread_cond_signal(&cond);
		__atomic_store_n(&rounds, rounds + 1, __ATOMIC_RELAXED);
	}
	return none;
}

int main(int count, char **words)
{
	int seconds = count > 1 ? atoi(words[count - 1]) : 86400;
	struct timespec used;

	if (count > 2) {
		start(signals);
	} else {
		start_with(takes_turns, (void *)0);
		start_with(takes_turns, (void *)1);
	}
	sleep((unsigned)seconds);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	printf("%.3f\n", ((double)used.tv_sec * 1e9 + (double)used.tv_nsec) /
				 (double)__atomic_load_n(&rounds, __ATOMIC_RELAXED));
	return 0;
}
