/* SPDX-License-Identifier: Apache-2.0
 * cond_stolen.c - a signal wakes a thread of another kind, which goes back to sleep.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn, came;

static void *takes(void *arg)
{
	int own = (int)(size_t)arg;

	pthread_mutex_lock(&lock);
	came++;
	while (turn != own)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Takes the lock once so many threads wait. */
static void lock_behind(int waiters)
{
	pthread_mutex_lock(&lock);
	while (came < waiters) {
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
}

int main(void)
{
	pthread_t first = start_with(takes, (void *)1), second;

	lock_behind(1);
	pthread_mutex_unlock(&lock);
	second = start_with(takes, (void *)2);
	lock_behind(2);
	turn = 2;
#ifdef FIXED
	pthread_cond_broadcast(&cond);
#else
	pthread_cond_signal(&cond); /* the first waiter takes it, and waits again */
#endif
	pthread_mutex_unlock(&lock);
	pthread_join(second, NULL);
#ifdef FIXED
	(void)first;
	rest();
#else
	pthread_join(first, NULL);
#endif
}
