/* SPDX-License-Identifier: Apache-2.0
 * llvm_201937.c - a writer whose time is over takes the wakeup, and gives up.
 *
 * System     LLVM libc (RawRwLock, a lock with a timeout)
 * Issue      https://github.com/llvm/llvm-project/pull/201937
 * Year       2026
 * Seen       A reader waits for ever; the lock is free.
 * Mechanism  A writer waits with a timeout, and a reader without one. Who unlocks prefers the
 *            writer, and wakes it alone. But its time was over already: it has been on its way to
 *            sign off, and then returns without the lock. Nobody wakes the reader.
 * Claim      Who waits for a lock that is free gets it.
 * Shows      asleep asleep asleep */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum role { READER, WRITER, ROLES };
enum { FREE = 0, WRITTEN = -1 }; /* or so many readers */

static atomic_int state = WRITTEN; /* by main */
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static int pending[ROLES] = {1, 1};
static atomic_uint serialization[ROLES]; /* how often the role was woken */

static void notify_pending(void)
{
	enum role role;

	pthread_mutex_lock(&queue);
	role = pending[WRITER] ? WRITER : READER;
	serialization[role]++;
	pthread_mutex_unlock(&queue);
	syscall(SYS_futex, &serialization[role], FUTEX_WAKE, role == WRITER ? 1 : ROLES);
}

static bool is_free_for(enum role role, int seen)
{
	return role == WRITER ? seen == FREE : seen != WRITTEN;
}

static bool try_lock(enum role role)
{
	int seen = state;

	while (is_free_for(role, seen)) {
		int next = role == WRITER ? WRITTEN : seen + 1;

		if (atomic_compare_exchange_strong(&state, &seen, next))
			return true;
	}
	return false;
}

/* It has at most one reader here. */
static void unlock(void)
{
	state = FREE;
	notify_pending();
}

static unsigned enqueue(enum role role)
{
	unsigned serial;

	pthread_mutex_lock(&queue);
	pending[role]++;
	serial = serialization[role];
	pthread_mutex_unlock(&queue);
	return serial;
}

/* Returns whether the role was woken since. */
static bool sign_off(enum role role, unsigned serial)
{
	bool is_woken;

	pthread_mutex_lock(&queue);
	pending[role]--;
	is_woken = serialization[role] != serial;
	pthread_mutex_unlock(&queue);
	return is_woken;
}

/* It is in the queue already. Returns whether it got the lock in time. */
static bool lock(enum role role, const struct timespec *timeout)
{
	unsigned serial = 0;

	for (;;) {
		bool is_late = false, is_woken;

		if (!is_free_for(role, state))
			is_late = syscall(SYS_futex, &serialization[role], FUTEX_WAIT, serial,
					  timeout) &&
				  errno == ETIMEDOUT;
		is_woken = sign_off(role, serial);
#ifdef FIXED
		if (is_late && is_woken && role == WRITER)
			notify_pending();
#else
		(void)is_woken;
#endif
		if (is_late)
			return false;
		if (try_lock(role))
			return true;
		serial = enqueue(role);
	}
}

static void *write_in_time(void *unused)
{
	struct timespec soon = {.tv_sec = 1};

	if (lock(WRITER, &soon))
		unlock();
	return unused;
}

static void *read_at_last(void *unused)
{
	if (lock(READER, NULL))
		unlock();
	return unused;
}

int main(void)
{
	pthread_t writer, reader;

	pthread_create(&writer, NULL, write_in_time, NULL);
	pthread_create(&reader, NULL, read_at_last, NULL);
	unlock();
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	return 0;
}
