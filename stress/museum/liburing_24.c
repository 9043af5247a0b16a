/* SPDX-License-Identifier: Apache-2.0
 * liburing_24.c - who waits enters the kernel, and forgets to wake its thread.
 *
 * System     liburing 0.2 (io_uring_submit_and_wait with SQPOLL)
 * Issue      https://github.com/axboe/liburing/issues/24
 * Year       2019
 * Seen       io_uring_submit_and_wait does not return.
 * Mechanism  Whether the system call is needed, and with which flags, is asked by one function. It is
 *            the second operand of an `or`, behind "is there something to wait for"; so if there is,
 *            nobody looks at NEED_WAKEUP, and the call waits without the flag that wakes.
 * Claim      What is submitted is taken, or the kernel's thread is woken.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { WAKE = 1 };

static struct {
	atomic_uint tail;
	atomic_bool needs_wakeup;
	sem_t wakeup, completions;
} ring;

static void *poll_ring(void *unused)
{
	ring.needs_wakeup = true;
	if (!ring.tail)
		sem_wait(&ring.wakeup);
	ring.needs_wakeup = false;
	sem_post(&ring.completions);
	return unused;
}

static bool needs_enter(int *flags)
{
	if (!ring.needs_wakeup)
		return false;
	*flags = WAKE;
	return true;
}

static void enter(int flags, int waits_for)
{
	if (flags & WAKE)
		sem_post(&ring.wakeup);
	while (waits_for--)
		sem_wait(&ring.completions);
}

static void submit_and_wait(int waits_for)
{
	int flags = 0;

	ring.tail = 1;
#ifdef FIXED
	if (needs_enter(&flags) || waits_for)
#else
	if (waits_for || needs_enter(&flags))
#endif
		enter(flags, waits_for);
}

int main(void)
{
	pthread_t kernel;

	sem_init(&ring.wakeup, 0, 0);
	sem_init(&ring.completions, 0, 0);
	pthread_create(&kernel, NULL, poll_ring, NULL);
	submit_and_wait(1);
	pthread_join(kernel, NULL);
	return 0;
}
