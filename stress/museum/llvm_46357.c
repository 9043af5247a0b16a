/* SPDX-License-Identifier: Apache-2.0
 * llvm_46357.c - the second release wakes nobody.
 *
 * System     libc++ 11 (std::counting_semaphore)
 * Issue      https://github.com/llvm/llvm-project/issues/46357
 * Year       2020
 * Seen       Two threads acquire, another one releases twice, and one of them still waits.
 * Mechanism  release notifies one waiter, and only if the value was 0. If it is called twice before
 *            the first waiter has taken its one, the second call sees 1 and notifies nobody; the
 *            second waiter sleeps, and the value is 1.
 * Claim      Who acquires sleeps only while there is nothing.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WAITERS = 2 };

static atomic_uint value;

static void acquire(void)
{
	unsigned old = value;

	for (;;) {
		if (old && atomic_compare_exchange_strong(&value, &old, old - 1))
			return;
		if (!old)
			syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		old = value;
	}
}

static void release(void)
{
	unsigned before = atomic_fetch_add(&value, 1);

#ifdef FIXED
	(void)before;
#else
	if (before)
		return;
#endif
	syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *take(void *unused)
{
	acquire();
	return unused;
}

int main(void)
{
	pthread_t waiters[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		pthread_create(&waiters[i], NULL, take, NULL);
	release();
	release();
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i], NULL);
	return 0;
}
