/* SPDX-License-Identifier: Apache-2.0
 * timed_locks.c - two threads take two mutexes in opposite orders, with a limit.
 *
 * Class      healthy */
#include <time.h>

#include "hang.h"

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *takes(void *arg)
{
	size_t own = (size_t)arg;

	for (;;) {
		struct timespec until;

		pthread_mutex_lock(&locks[own]);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 3;
		if (pthread_mutex_timedlock(&locks[1 - own], &until) == 0)
			pthread_mutex_unlock(&locks[1 - own]);
		pthread_mutex_unlock(&locks[own]);
	}
	return NULL;
}

int main(void)
{
	start_with(takes, (void *)1);
	takes((void *)0);
}
