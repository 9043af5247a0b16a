/* SPDX-License-Identifier: Apache-2.0
 * erlang_4127.c - a lock on the way to sleep takes the wakeup away.
 *
 * System     Erlang/OTP 23.0 (erts, scheduler_wait)
 * Issue      https://github.com/erlang/otp/issues/4127
 * Year       2020
 * Seen       The runtime hangs while it halts.
 * Mechanism  A scheduler resets its thread event, announces that it sleeps, asks for the time, and
 *            waits for the event. To ask for the time takes a read-write lock, which waits by the
 *            same event of the thread if the lock is taken, and resets it for that. If it was set
 *            by a waker meanwhile, that is gone; and the waker has cleared the announcement.
 * Claim      A scheduler that has announced its sleep is woken.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNSET, SET };

static atomic_uint event, is_asleep, clock_is_locked, waits_for_clock;

static void wait_for_event(void)
{
	while (event != SET)
		syscall(SYS_futex, &event, FUTEX_WAIT_PRIVATE, UNSET, NULL, NULL, 0);
}

static void set_event(void)
{
	event = SET;
	syscall(SYS_futex, &event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The time is under a lock; who finds it taken waits by its own event. */
static void read_time(void)
{
	if (!clock_is_locked)
		return;
	event = UNSET;
	waits_for_clock = 1;
	if (clock_is_locked)
		wait_for_event();
}

static void *adjust_time(void *unused)
{
	clock_is_locked = 1;
	clock_is_locked = 0;
	if (atomic_exchange(&waits_for_clock, 0))
		set_event();
	return unused;
}

static void *schedule(void *unused)
{
#ifdef FIXED
	read_time(); /* before it announces anything */
#endif
	event = UNSET;
	is_asleep = 1;
#ifndef FIXED
	read_time();
#endif
	wait_for_event();
	return unused;
}

static void wake(void)
{
	while (!is_asleep) {
	}
	is_asleep = 0;
	set_event();
}

int main(void)
{
	pthread_t scheduler, adjuster;

	pthread_create(&scheduler, NULL, schedule, NULL);
	pthread_create(&adjuster, NULL, adjust_time, NULL);
	wake();
	pthread_join(adjuster, NULL);
	pthread_join(scheduler, NULL);
	return 0;
}
