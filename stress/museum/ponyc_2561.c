/* SPDX-License-Identifier: Apache-2.0
 * ponyc_2561.c - the lock is taken, so it tells nobody.
 *
 * System     Pony 0.21.3 (scheduler 0 and the ASIO thread)
 * Issue      https://github.com/ponylang/ponyc/pull/2561
 * Year       2018
 * Seen       The runtime hangs although an event has come.
 * Mechanism  Scheduler 0 holds a mutex from before it decides to suspend until its wait has begun.
 *            The ASIO thread queues the event and tries to take the mutex, to signal. If it is
 *            taken it gives up, as if the scheduler were awake; but the scheduler has looked at the
 *            queue already.
 * Claim      An event in the queue is handled.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakeup = PTHREAD_COND_INITIALIZER;
static atomic_int queue;

static void *asio(void *unused)
{
	queue = 1;
#ifdef FIXED
	pthread_mutex_lock(&mutex);
#else
	if (pthread_mutex_trylock(&mutex))
		return unused;
#endif
	pthread_cond_signal(&wakeup);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void schedule(void)
{
	while (!queue) {
		pthread_mutex_lock(&mutex);
		if (!queue)
			pthread_cond_wait(&wakeup, &mutex);
		pthread_mutex_unlock(&mutex);
	}
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, asio, NULL);
	schedule();
	pthread_join(thread, NULL);
	return 0;
}
