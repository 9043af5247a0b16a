/* SPDX-License-Identifier: Apache-2.0
 * dotnet_128606.c - a thief puts the head back too late for the one who looks next.
 *
 * System     .NET before 11 (thread pool, work-stealing queue)
 * Issue      https://github.com/dotnet/runtime/pull/128606
 * Year       2026
 * Seen       Stress tests hang: nobody looks for items any more, and one is in a queue.
 * Mechanism  A thief moves the head of a queue on, finds that the item is gone, and puts the head
 *            back by a plain store. It has missed a steal, so it asks for a thread, unless one was
 *            asked for already. The store may wait in its store buffer until after that check: the
 *            thread that was asked for sees the head moved, and takes the queue for empty.
 * Claim      An item in the queue is run.
 * Shows      ended asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int head, tail; /* of the owner's queue */
static atomic_bool is_locked; /* for thieves */
static atomic_bool has_request;
static sem_t threads, item_done;

static void ensure_thread_requested(void)
{
	if (!has_request && !atomic_exchange(&has_request, true))
		sem_post(&threads);
}

static void lock(void)
{
	while (atomic_exchange(&is_locked, true))
		while (is_locked) {
		}
}

static void unlock(void)
{
	atomic_store_explicit(&is_locked, false, memory_order_release);
}

static bool steal(void)
{
	bool has_item;
	int seen;

	lock();
	seen = head;
	atomic_exchange(&head, seen + 1);
	has_item = seen < tail;
	if (!has_item) {
#ifdef FIXED
		atomic_exchange(&head, seen);
#else
		atomic_store_explicit(&head, seen, memory_order_relaxed);
#endif
	}
	unlock();
	if (has_item)
		sem_post(&item_done);
	else
		ensure_thread_requested(); /* it has missed a steal */
	return has_item;
}

static void *steal_once(void *unused)
{
	steal(); /* it has seen an item there, and its owner has taken that since */
	return unused;
}

static void *work(void *unused)
{
	bool is_done = false;

	while (!is_done) {
		sem_wait(&threads);
		has_request = false;
		is_done = head < tail && steal();
	}
	return unused;
}

int main(void)
{
	pthread_t thief, worker;

	sem_init(&threads, 0, 0);
	sem_init(&item_done, 0, 0);
	pthread_create(&thief, NULL, steal_once, NULL);
	pthread_create(&worker, NULL, work, NULL);
	tail = 1; /* the owner adds an item, and waits for it */
	ensure_thread_requested();
	sem_wait(&item_done);
	return 0;
}
