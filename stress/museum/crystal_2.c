/* SPDX-License-Identifier: Apache-2.0
 * crystal_2.c - it can sleep in two ways, and is woken from one.
 *
 * System     Crystal, execution contexts
 * Issue      https://github.com/ysbaddaden/execution_context/issues/2
 * Year       2024
 * Seen       A thread does nothing although fibers are in the queue, until an event comes.
 * Mechanism  A scheduler without fibers parks its thread if no event is pending, and blocks in its
 *            event loop if there is one. Who adds a fiber looks for a thread that is parked. One
 *            that is in its event loop is not parked, and nobody interrupts it.
 * Claim      A fiber in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t unparked = PTHREAD_COND_INITIALIZER;
static bool is_parked;
#ifdef FIXED
static bool is_blocked; /* in the event loop */
#endif
static int queue; /* under the mutex, like the rest */
static int events = 1, event_loop;

static void run_event_loop(void)
{
	uint64_t count;

#ifdef FIXED
	is_blocked = true;
#endif
	pthread_mutex_unlock(&mutex);
	read(event_loop, &count, sizeof(count)); /* an event, or an interrupt */
	pthread_mutex_lock(&mutex);
#ifdef FIXED
	is_blocked = false;
#endif
}

static void park(void)
{
	is_parked = true;
	while (is_parked)
		pthread_cond_wait(&unparked, &mutex);
}

static void *schedule(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!queue) {
		if (events)
			run_event_loop();
		else
			park();
	}
	queue--;
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void enqueue(void)
{
	pthread_mutex_lock(&mutex);
	queue++;
	if (is_parked) {
		is_parked = false;
		pthread_cond_signal(&unparked);
	}
#ifdef FIXED
	else if (is_blocked) {
		uint64_t one = 1;

		write(event_loop, &one, sizeof(one));
	}
#endif
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t scheduler;

	event_loop = eventfd(0, 0);
	pthread_create(&scheduler, NULL, schedule, NULL);
	enqueue();
	pthread_join(scheduler, NULL);
	return 0;
}
