/* SPDX-License-Identifier: Apache-2.0
 * cond_early.c - a condition variable is signalled before the wait, and nothing is checked.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool is_ready;

static void *signaller(void *arg)
{
	pthread_mutex_lock(&lock);
	is_ready = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_join(start(signaller), NULL);
	pthread_mutex_lock(&lock);
#ifdef FIXED
	while (!is_ready)
#endif
		pthread_cond_wait(&cond, &lock);
	rest();
}
