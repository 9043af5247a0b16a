/* SPDX-License-Identifier: Apache-2.0
 * llvm_77659.c - it sleeps while the semaphore is free.
 *
 * System     libc++ 17 (std::counting_semaphore)
 * Issue      https://github.com/llvm/llvm-project/issues/77659
 * Year       2024
 * Seen       acquire does not return, although the semaphore was released.
 * Mechanism  acquire notes the value, then tries to take one, and if that fails sleeps while the value
 *            is the noted one. It may note 1, lose that one to another thread, and see 0; when the
 *            value is 1 again before it sleeps, it sleeps while the value is 1.
 * Claim      Who acquires sleeps only while there is nothing.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_uint value;

static bool try_acquire(unsigned *seen)
{
	unsigned old = atomic_load_explicit(&value, memory_order_relaxed);

	*seen = old;
	return old && atomic_compare_exchange_strong_explicit(
			      &value, &old, old - 1, memory_order_acquire, memory_order_relaxed);
}

static void acquire(void)
{
	for (;;) {
		unsigned noted, seen;

#ifdef FIXED
		if (try_acquire(&seen))
			return;
		noted = seen;
		if (noted)
			continue;
#else
		noted = value;
		if (try_acquire(&seen))
			return;
#endif
		syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, noted, NULL, NULL, 0);
	}
}

static void release(void)
{
	atomic_fetch_add_explicit(&value, 1, memory_order_release);
	syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *use(void *unused)
{
	acquire();
	release();
	return unused;
}

int main(void)
{
	pthread_t users[2];

	value = 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&users[i], NULL, use, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(users[i], NULL);
	return 0;
}
