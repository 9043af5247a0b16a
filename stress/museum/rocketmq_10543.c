/* SPDX-License-Identifier: Apache-2.0
 * rocketmq_10543.c - the latch is set up again after it was opened.
 *
 * System     Apache RocketMQ (ServiceThread)
 * Issue      https://github.com/apache/rocketmq/issues/10543
 * Year       2026
 * Seen       A wakeup has no effect; the service goes on when its interval is over, up to 1 s
 *            later.
 * Mechanism  The service looks whether it was notified, resets its latch, and waits for it. A
 *            wakeup between the first two sets the mark and opens the latch; the reset closes it.
 *            Further wakeups find the mark set, and do nothing.
 * Claim      A service that was woken goes on.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_bool is_notified;

static bool set_mark(bool before, bool after)
{
	return atomic_compare_exchange_strong(&is_notified, &before, after);
}

#ifdef FIXED
static sem_t permit; /* of the thread: it is kept if nobody waits for it */

static void wake(void)
{
	if (set_mark(false, true))
		sem_post(&permit);
}

static void wait_for_running(void)
{
	while (!set_mark(true, false))
		sem_wait(&permit);
}
#else
enum { OPEN, CLOSED };

static atomic_uint latch = CLOSED;

static void wake(void)
{
	if (!set_mark(false, true))
		return;
	latch = OPEN;
	syscall(SYS_futex, &latch, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_running(void)
{
	if (set_mark(true, false))
		return;
	latch = CLOSED;
	while (latch == CLOSED)
		syscall(SYS_futex, &latch, FUTEX_WAIT_PRIVATE, CLOSED, NULL, NULL, 0);
	is_notified = false;
}
#endif

static void *serve(void *unused)
{
	wait_for_running();
	return unused;
}

int main(void)
{
	pthread_t service;

#ifdef FIXED
	sem_init(&permit, 0, 0);
#endif
	pthread_create(&service, NULL, serve, NULL);
	wake();
	pthread_join(service, NULL);
	return 0;
}
