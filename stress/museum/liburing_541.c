/* SPDX-License-Identifier: Apache-2.0
 * liburing_541.c - the flag is read before the new tail can be seen.
 *
 * System     liburing 2.1, Linux 5.16 (io_uring with SQPOLL)
 * Issue      https://github.com/axboe/liburing/issues/541
 * Year       2022
 * Seen       A submission is not taken: the program waits for its completion, and the kernel's
 *            thread sleeps.
 * Mechanism  The program publishes the tail and then reads NEED_WAKEUP; the kernel's thread sets
 *            NEED_WAKEUP and then reads the tail. Without a full fence on both sides each may read
 *            what was there before the other one's store, also on x86.
 * Claim      What is submitted is taken, or the kernel's thread is woken.
 * Shows      ended asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { NEED_WAKEUP = 1 };

static struct {
	atomic_uint tail, flags;
	sem_t wakeup; /* io_uring_enter with IORING_ENTER_SQ_WAKEUP */
} ring;

static void fence(void)
{
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void *poll_ring(void *unused)
{
	atomic_store_explicit(&ring.flags, NEED_WAKEUP, memory_order_relaxed);
	fence();
	if (atomic_load_explicit(&ring.tail, memory_order_acquire) == 0)
		sem_wait(&ring.wakeup);
	atomic_store_explicit(&ring.flags, 0, memory_order_relaxed);
	return unused;
}

static void submit(void)
{
	atomic_store_explicit(&ring.tail, 1, memory_order_release);
	fence();
	if (atomic_load_explicit(&ring.flags, memory_order_relaxed) & NEED_WAKEUP)
		sem_post(&ring.wakeup);
}

int main(void)
{
	pthread_t kernel;

	sem_init(&ring.wakeup, 0, 0);
	pthread_create(&kernel, NULL, poll_ring, NULL);
	submit();
	pthread_join(kernel, NULL);
	return 0;
}
