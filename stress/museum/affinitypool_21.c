/* SPDX-License-Identifier: Apache-2.0
 * affinitypool_21.c - two queues, and nothing that orders the one after the other.
 *
 * System     affinitypool, the thread pool of SurrealDB
 * Issue      https://github.com/surrealdb/affinitypool/issues/21
 * Year       2026
 * Seen       Miri reports a deadlock; x86 hides it, as its exchanges are fences.
 * Mechanism  Who spawns pushes a task to one queue, and looks into another one for a worker to
 *            unpark. A worker pushes itself to the second, and looks once more into the first. Both
 *            pushes are exchanges that release, both looks are loads that acquire; on a weak machine
 *            both may find nothing, and the worker parks.
 * Claim      A task that was pushed is run.
 * Shows      ended ended asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int injector, parked; /* tasks, and workers */
static sem_t unparks;

static void fence(void)
{
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void push(atomic_int *queue)
{
	atomic_fetch_add_explicit(queue, 1, memory_order_release);
}

static bool pop(atomic_int *queue)
{
	int count = atomic_load_explicit(queue, memory_order_acquire);

	while (count > 0)
		if (atomic_compare_exchange_weak_explicit(
			    queue, &count, count - 1, memory_order_acquire, memory_order_acquire))
			return true;
	return false;
}

static void spawn(void)
{
	push(&injector);
	fence();
	if (pop(&parked))
		sem_post(&unparks);
}

static void *work(void *unused)
{
	while (!pop(&injector)) {
		push(&parked);
		fence();
		if (atomic_load_explicit(&injector, memory_order_acquire) && pop(&parked))
			continue; /* it helps itself */
		sem_wait(&unparks);
	}
	return unused;
}

int main(void)
{
	pthread_t worker;

	sem_init(&unparks, 0, 0);
	pthread_create(&worker, NULL, work, NULL);
	spawn();
	pthread_join(worker, NULL);
	return 0;
}
