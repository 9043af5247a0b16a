/* SPDX-License-Identifier: Apache-2.0
 * ish_466.c - a wait that a signal interrupts begins anew, and a wake comes in between.
 *
 * System     iSH-AOK, builds 537 and 538 (Linux in an app for iOS)
 * Issue      https://github.com/emkey1/ish-AOK/issues/466
 * Year       2026
 * Seen       A test of futex waits with signals hangs now and then, on a device.
 * Mechanism  A signal with SA_RESTART interrupts a futex wait: the thread leaves the queue, runs
 *            the handler, and waits again. A wake in between finds nobody in the queue. The word
 *            may be what it was, so the second wait begins. The fix counts the wakes of each futex,
 *            and the thread compares the count.
 * Claim      A wake that comes after the wait has begun ends it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the futex, with all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_queued, is_woken, has_signal;
#ifdef FIXED
static unsigned wakes;
#endif
static atomic_bool has_begun;

/* Waits in the queue. Returns false if it is a signal that ends that. */
static bool wait_in_queue(void)
{
	is_queued = true;
	has_begun = true;
	while (!is_woken && !has_signal)
		pthread_cond_wait(&changed, &mutex);
	is_queued = false;
	return is_woken;
}

static void run_handler(void)
{
	has_signal = false;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void *wait_on_word(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!wait_in_queue()) {
#ifdef FIXED
		unsigned before = wakes;
#endif
		run_handler();
#ifdef FIXED
		if (wakes != before)
			break;
#endif
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void wake(void)
{
	pthread_mutex_lock(&mutex);
#ifdef FIXED
	wakes++;
#endif
	if (is_queued) {
		is_woken = true;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&mutex);
}

static void *send_signal(void *unused)
{
	pthread_mutex_lock(&mutex);
	has_signal = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t waiter, sender;

	pthread_create(&waiter, NULL, wait_on_word, NULL);
	pthread_create(&sender, NULL, send_signal, NULL);
	while (!has_begun) {
	}
	wake();
	pthread_join(sender, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
