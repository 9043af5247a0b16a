/* SPDX-License-Identifier: Apache-2.0
 * boost_log_255.c - the event is set already, it reads, and does not write.
 *
 * System     Boost.Log 1.78 to 1.89 (asynchronous_sink, atomic_based_event)
 * Issue      https://github.com/boostorg/log/issues/255
 * Year       2026
 * Seen       flush() hangs: the feeding thread sleeps, although it was interrupted.
 * Mechanism  To set the event means to exchange its state for 1, and to notify if it was 0. If the
 *            state is 1 already, a load saves the exchange. That load may come before the caller's
 *            own store, the request to interrupt, can be seen: also on x86. The feeder then takes
 *            the event of before, finds neither a request nor a record, and sleeps.
 * Claim      Who sets the event ends a wait that does not see what was done before.
 * Shows      ended asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int event;             /* 1: set */
static atomic_int records;           /* in the queue */
static atomic_bool interrupt_wanted; /* by flush */

static void set_event(void)
{
#ifndef FIXED
	if (atomic_load_explicit(&event, memory_order_relaxed)) {
		atomic_thread_fence(memory_order_release);
		return;
	}
#endif
	if (!atomic_exchange_explicit(&event, 1, memory_order_release))
		syscall(SYS_futex, &event, FUTEX_WAKE, 1);
}

static void wait(void)
{
	while (!atomic_exchange_explicit(&event, 0, memory_order_acquire))
		syscall(SYS_futex, &event, FUTEX_WAIT, 0, NULL);
}

static void *log_one(void *unused)
{
	atomic_fetch_add_explicit(&records, 1, memory_order_release);
	set_event();
	return unused;
}

static void *flush(void *unused)
{
	atomic_store_explicit(&interrupt_wanted, true, memory_order_release);
	set_event();
	return unused;
}

static void feed(void)
{
	while (!atomic_load_explicit(&interrupt_wanted, memory_order_acquire)) {
		if (atomic_load_explicit(&records, memory_order_acquire))
			atomic_fetch_sub_explicit(&records, 1, memory_order_relaxed);
		else
			wait();
	}
}

int main(void)
{
	pthread_t logger, flusher;

	pthread_create(&logger, NULL, log_one, NULL);
	pthread_create(&flusher, NULL, flush, NULL);
	feed();
	pthread_join(logger, NULL);
	pthread_join(flusher, NULL);
	return 0;
}
