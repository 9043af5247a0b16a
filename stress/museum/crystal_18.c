/* SPDX-License-Identifier: Apache-2.0
 * crystal_18.c - it stops spinning, and does not look once more.
 *
 * System     Crystal, execution contexts
 * Issue      https://github.com/ysbaddaden/execution_context/issues/18
 * Year       2024
 * Seen       A fiber is in the global queue, and the thread that should run it waits in the event
 *            loop.
 * Mechanism  A thread that spins finds the global queue empty. Another thread puts a fiber into the
 *            queue, sees that somebody spins, and wakes nobody. The first one stops spinning and
 *            blocks in the event loop.
 * Claim      A fiber in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static atomic_int queue, spinning;
static int event_loop; /* an eventfd: who waits for events is interrupted by it */

static int dequeue(void)
{
	int one = 1;

	return atomic_compare_exchange_strong(&queue, &one, 0);
}

static void *run(void *unused)
{
	uint64_t count;

	spinning = 1;
	while (!dequeue()) {
		spinning = 0;
#ifdef FIXED
		if (dequeue())
			break;
#endif
		read(event_loop, &count, sizeof(count));
	}
	return unused;
}

static void enqueue(void)
{
	uint64_t one = 1;

	queue = 1;
	if (!spinning)
		write(event_loop, &one, sizeof(one));
}

int main(void)
{
	pthread_t thread;

	event_loop = eventfd(0, 0);
	pthread_create(&thread, NULL, run, NULL);
	enqueue();
	pthread_join(thread, NULL);
	return 0;
}
