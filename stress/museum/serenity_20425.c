/* SPDX-License-Identifier: Apache-2.0
 * serenity_20425.c - it sleeps on a word that says that nobody sleeps.
 *
 * System     SerenityOS (LibC, pthread_mutex)
 * Issue      https://github.com/SerenityOS/serenity/pull/20425
 * Year       2023
 * Seen       Most programs deadlock when several processors are used.
 * Mechanism  The mutex is free, locked, or locked with a need to wake. Who waits exchanges the word
 *            for the third, and then sleeps, at first while it is the second. If the mutex was
 *            unlocked and locked again meanwhile, it is the second: it sleeps, and the next unlock
 *            sees no need to wake.
 * Claim      Who sleeps for a mutex is woken by an unlock.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNLOCKED, LOCKED_NO_NEED_TO_WAKE, LOCKED_NEED_TO_WAKE };

static atomic_int mutex = LOCKED_NO_NEED_TO_WAKE; /* by main */

static bool try_lock(void)
{
	int unlocked = UNLOCKED;

	return atomic_compare_exchange_strong_explicit(&mutex, &unlocked, LOCKED_NO_NEED_TO_WAKE,
						       memory_order_acquire, memory_order_relaxed);
}

static void lock(void)
{
	int seen = LOCKED_NO_NEED_TO_WAKE;

	if (try_lock())
		return;
#ifdef FIXED
	seen = LOCKED_NEED_TO_WAKE;
#endif
	while (atomic_exchange_explicit(&mutex, LOCKED_NEED_TO_WAKE, memory_order_acquire)) {
		syscall(SYS_futex, &mutex, FUTEX_WAIT, seen, NULL);
		seen = LOCKED_NEED_TO_WAKE;
	}
}

static void unlock(void)
{
	if (atomic_exchange_explicit(&mutex, UNLOCKED, memory_order_release) == LOCKED_NEED_TO_WAKE)
		syscall(SYS_futex, &mutex, FUTEX_WAKE, 1);
}

static void *work(void *unused)
{
	lock();
	unlock();
	return unused;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	unlock();
	lock();
	unlock();
	pthread_join(worker, NULL);
	return 0;
}
