/* SPDX-License-Identifier: Apache-2.0
 * silk_85.c - it leaves the rest to the one who has looked already.
 *
 * System     Silk (fibers of ClickHouse), FiberSequencer
 * Issue      https://github.com/ClickHouse/silk/pull/85
 * Year       2026
 * Seen       A fiber whose turn has come is never woken, on x86 and on ARM.
 * Mechanism  One thread at a time, the combiner, wakes the fibers whose turn has come. Who advances
 *            the counter while there is one marks it as pending, or goes if it is marked already.
 *            The combiner clears the mark, and reads the counter once more. Both sides write one
 *            word and read the other, without a fence: the old mark is seen, and the old counter.
 * Claim      A fiber whose turn has come is woken.
 * Shows      ended asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { FREE, BUSY, PENDING };
enum { TURN = 2 };

static atomic_int state = BUSY, counter;
static sem_t wakeup; /* of the fiber that waits for its turn */

static void wake_waiters(void)
{
	if (atomic_load_explicit(&counter, memory_order_acquire) >= TURN)
		sem_post(&wakeup);
}

static void combine(void)
{
	int seen = BUSY;

	wake_waiters();
	while (!atomic_compare_exchange_strong_explicit(&state, &seen, FREE, memory_order_acq_rel,
							memory_order_acquire)) {
		atomic_store_explicit(&state, BUSY, memory_order_release);
#ifdef FIXED
		atomic_thread_fence(memory_order_seq_cst);
#endif
		wake_waiters();
		seen = BUSY;
	}
}

static void drain(void)
{
	int seen, next;

#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
	seen = atomic_load_explicit(&state, memory_order_acquire);
	do {
		if (seen == PENDING)
			return;
		next = seen == FREE ? BUSY : PENDING;
	} while (!atomic_compare_exchange_weak_explicit(&state, &seen, next, memory_order_acq_rel,
							memory_order_acquire));
	if (next == BUSY)
		combine();
}

static void advance(void)
{
	atomic_fetch_add_explicit(&counter, 1, memory_order_release);
	drain();
}

static void *be_combiner(void *unused)
{
	combine();
	return unused;
}

static void *advance_once(void *unused)
{
	advance();
	return unused;
}

int main(void)
{
	pthread_t combiner, other;

	sem_init(&wakeup, 0, 0);
	pthread_create(&combiner, NULL, be_combiner, NULL);
	pthread_create(&other, NULL, advance_once, NULL);
	advance();
	sem_wait(&wakeup);
	return 0;
}
