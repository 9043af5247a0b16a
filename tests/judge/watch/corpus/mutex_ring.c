/* SPDX-License-Identifier: Apache-2.0
 * mutex_ring.c - three threads wait for one another: mutexes of three kinds.
 *
 * Class      owner cycle
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t locks[3];

static void *take(void *arg)
{
	int own = (int)(size_t)arg;

	pthread_mutex_lock(&locks[own]);
	meet();
#ifdef FIXED
	pthread_mutex_unlock(&locks[own]);
#endif
	pthread_mutex_lock(&locks[(own + 1) % 3]);
	pthread_mutex_unlock(&locks[(own + 1) % 3]);
	rest();
}

int main(void)
{
	pthread_mutexattr_t attr;

	parties = 3;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&locks[0], &attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&locks[1], &attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_STALLED);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&locks[2], &attr);
	for (size_t own = 0; own < 3; own++)
		start_with(take, (void *)own);
	rest();
}
