/* SPDX-License-Identifier: Apache-2.0
 * barrier_phases.c - each of two threads reads in the second phase what the other wrote.
 * BUG: one thread does not wait for the end of the first phase. */
#include <assert.h>
#include <pthread.h>

static pthread_barrier_t barrier;
static int written[2];

static void *run(void *argument)
{
	long me = (long)argument;

	written[me] = 1;
#ifdef BUG
	if (me)
		return NULL;
#endif
	pthread_barrier_wait(&barrier);
	assert(written[1 - me]);
	return NULL;
}

int main(void)
{
	pthread_t one, other;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&one, NULL, run, (void *)0L);
	pthread_create(&other, NULL, run, (void *)1L);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&barrier);
	return 0;
}
