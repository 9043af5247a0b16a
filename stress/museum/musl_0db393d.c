/* SPDX-License-Identifier: Apache-2.0
 * musl_0db393d.c - it goes back to sleep, and does not say so again.
 *
 * System     musl (lock of a FILE)
 * Issue      https://git.librecmc.org/?a=commit&h=0db393d3a77bb9f300a356c6a5484fc2dddb161d&p=oweals%2Fmusl.git
 * Year       2018
 * Seen       A thread waits for a file that nobody has locked.
 * Mechanism  A thread that waits for the lock sets a flag in it; the unlock clears the word, and
 *            wakes one thread if the flag was set. If a third thread takes the lock before the
 *            wake, the flag is gone. The one that is woken finds the lock taken and sleeps again,
 *            without the flag. The third one's unlock wakes nobody.
 * Claim      Who waits for the lock gets it.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, TAKEN, MAYBE_WAITERS };

static atomic_uint lock_word = TAKEN; /* by main */

/* Returns what the word was. */
static unsigned take(unsigned with)
{
	unsigned seen = FREE;

	atomic_compare_exchange_strong(&lock_word, &seen, with);
	return seen;
}

/* Returns whether the flag is in the word. */
static bool set_flag(unsigned *seen)
{
	if (*seen & MAYBE_WAITERS)
		return true;
	if (!atomic_compare_exchange_strong(&lock_word, seen, *seen | MAYBE_WAITERS))
		return false;
	*seen |= MAYBE_WAITERS;
	return true;
}

static void lock(void)
{
	unsigned seen = take(TAKEN);
	bool has_said = false; /* that it waits */

	while (seen) {
		if (!has_said)
			has_said = set_flag(&seen);
		if (has_said)
			syscall(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#ifdef FIXED
		has_said = false;
#endif
		seen = take(TAKEN | MAYBE_WAITERS);
	}
}

static void unlock(void)
{
	if (atomic_exchange(&lock_word, FREE) & MAYBE_WAITERS)
		syscall(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *use(void *unused)
{
	lock();
	unlock();
	return unused;
}

int main(void)
{
	pthread_t second, third;

	pthread_create(&second, NULL, use, NULL);
	pthread_create(&third, NULL, use, NULL);
	unlock();
	pthread_join(second, NULL);
	pthread_join(third, NULL);
	return 0;
}
