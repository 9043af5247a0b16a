/* SPDX-License-Identifier: Apache-2.0
 * brpc_3539.c - no waiter is counted, so no wake is needed.
 *
 * System     Apache bRPC (bthread, ParkingLot)
 * Issue      https://github.com/apache/brpc/pull/3539
 * Year       2026
 * Seen       A worker sleeps until the next signal, with --parking_lot_no_signal_when_no_waiter.
 * Mechanism  Who signals adds to the state, and wakes only if somebody is counted as a waiter. A
 *            waiter counts itself, and lets the futex compare the state. Both write one word and
 *            read the other, relaxed: each may miss what the other one wrote. Their writes are
 *            read-modify-writes, so x86 keeps them before the reads; the language does not.
 * Claim      A worker that waits for the old state is woken by a signal.
 * Shows      ended ended asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEP = 2 }; /* the lowest bit says that the lot is stopped */

static atomic_uint pending_signal;
static atomic_int waiters;

static void signal_one(void)
{
	atomic_fetch_add_explicit(&pending_signal, STEP, memory_order_release);
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
	if (atomic_load_explicit(&waiters, memory_order_relaxed))
		syscall(SYS_futex, &pending_signal, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_other_than(unsigned state)
{
	atomic_fetch_add_explicit(&waiters, 1, memory_order_relaxed);
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
	syscall(SYS_futex, &pending_signal, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
	atomic_fetch_sub_explicit(&waiters, 1, memory_order_relaxed);
}

static void *work(void *unused)
{
	while (!atomic_load_explicit(&pending_signal, memory_order_acquire))
		wait_for_other_than(0);
	return unused;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	signal_one();
	pthread_join(worker, NULL);
	return 0;
}
