/* SPDX-License-Identifier: Apache-2.0
 * asterinas_565.c - it forgets that it was woken, and then sleeps.
 *
 * System     Asterinas (Waiter, a wait with a timeout)
 * Issue      https://github.com/asterinas/asterinas/pull/565
 * Year       2023
 * Seen       A thread that waits with a timeout sleeps on after its time is over.
 * Mechanism  The waiter looks whether its timer has expired, and then calls wait. The timer's
 *            wake_up sets the mark `is_woken_up`; wait clears it, as its first step, and sleeps
 *            until it is set. If the timer expires after the look and before the step, its mark is
 *            cleared.
 * Claim      A wait ends when its timer has expired.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool is_expired;
static atomic_int is_woken_up;

static void wait(void)
{
#ifndef FIXED
	is_woken_up = false;
#endif
	while (!is_woken_up)
		syscall(SYS_futex, &is_woken_up, FUTEX_WAIT, false, NULL);
#ifdef FIXED
	is_woken_up = false; /* for the next wait */
#endif
}

static void wake_up(void)
{
	is_woken_up = true;
	syscall(SYS_futex, &is_woken_up, FUTEX_WAKE, 1);
}

static void *expire(void *unused)
{
	is_expired = true;
	wake_up();
	return unused;
}

int main(void)
{
	pthread_t timer;

	pthread_create(&timer, NULL, expire, NULL);
	while (!is_expired)
		wait();
	pthread_join(timer, NULL);
	return 0;
}
