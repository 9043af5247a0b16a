/* SPDX-License-Identifier: Apache-2.0
 * cond_stolen.c - a signal wakes a thread of another kind, which goes back to sleep.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *takes(void *arg)
{
	int own = (int)(size_t)arg;

	pthread_mutex_lock(&lock);
	while (turn != own)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t first = start_with(takes, (void *)1), second;

	settle();
	second = start_with(takes, (void *)2);
	settle();
	pthread_mutex_lock(&lock);
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
