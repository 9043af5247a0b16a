/* SPDX-License-Identifier: Apache-2.0
 * litebox_809.c - it is told that a writer was woken, and there was none.
 *
 * System     LiteBox (RwLock, on Windows)
 * Issue      https://github.com/microsoft/litebox/pull/809
 * Year       2026
 * Seen       A reader waits for ever after a writer has handed the lock to another one.
 * Mechanism  Who unlocks, while writers and readers are said to wait, wakes a writer, and the
 *            readers only if no writer slept. A writer that gets the lock after it slept leaves the
 *            mark that others wait, in case there are. When it unlocks, there are none; but the wake
 *            of Windows does not say how many it woke, and was taken to have woken one.
 * Claim      A reader that sleeps is woken when no writer has the lock or wants it.
 * Shows      asleep asleep asleep */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WRITTEN = 1, READERS_WAIT = 2, WRITERS_WAIT = 4, ALL = 9 };

static atomic_uint state = WRITTEN | READERS_WAIT | WRITERS_WAIT;
static atomic_uint writer_notify;

static unsigned load(atomic_uint *of)
{
	return atomic_load_explicit(of, memory_order_relaxed);
}

static bool change(unsigned *seen, unsigned next, memory_order order)
{
	return atomic_compare_exchange_strong_explicit(&state, seen, next, order,
						       memory_order_relaxed);
}

static bool is_unlocked(unsigned seen)
{
	return !(seen & WRITTEN);
}

static bool wake_writer(void)
{
	atomic_fetch_add_explicit(&writer_notify, 1, memory_order_release);
	syscall(SYS_futex, &writer_notify, FUTEX_WAKE, 1);
#ifdef FIXED
	return false; /* it is not known, so the readers, too */
#else
	return true;
#endif
}

static void wake_writer_or_readers(unsigned seen)
{
	if (seen == WRITERS_WAIT && change(&seen, 0, memory_order_relaxed)) {
		wake_writer();
		return;
	}
	if (seen == (READERS_WAIT | WRITERS_WAIT)) {
		if (!change(&seen, READERS_WAIT, memory_order_relaxed))
			return; /* another one got it, and will do this */
		if (wake_writer())
			return;
		seen = READERS_WAIT;
	}
	if (seen == READERS_WAIT && change(&seen, 0, memory_order_relaxed))
		syscall(SYS_futex, &state, FUTEX_WAKE, ALL);
}

static void unlock_write(void)
{
	unsigned seen = atomic_fetch_sub_explicit(&state, WRITTEN, memory_order_release) - WRITTEN;

	if (seen)
		wake_writer_or_readers(seen);
}

/* Returns whether it got the lock; if not, its mark is set, and it may sleep while so notified. */
static bool try_lock_write(unsigned *notified)
{
	unsigned seen = load(&state);

	for (;;) {
		bool is_free = is_unlocked(seen);

		if (!(seen & WRITERS_WAIT) || is_free) {
			unsigned next = seen | WRITERS_WAIT | (is_free ? WRITTEN : 0);

			if (!change(&seen, next, memory_order_acquire))
				continue;
			if (is_free)
				return true;
		}
		*notified = atomic_load_explicit(&writer_notify, memory_order_acquire);
		seen = load(&state);
		if (!is_unlocked(seen) && (seen & WRITERS_WAIT))
			return false;
	}
}

/* It has set its mark already, and is about to sleep. */
static void lock_write(void)
{
	unsigned notified = 0;

	do
		syscall(SYS_futex, &writer_notify, FUTEX_WAIT, notified, NULL);
	while (!try_lock_write(&notified));
}

/* Likewise. When it is woken it would try again; here it is content. */
static void lock_read(void)
{
	syscall(SYS_futex, &state, FUTEX_WAIT, WRITTEN | READERS_WAIT | WRITERS_WAIT, NULL);
}

static void *write_once(void *unused)
{
	lock_write();
	unlock_write();
	return unused;
}

static void *read_once(void *unused)
{
	lock_read();
	return unused;
}

int main(void)
{
	pthread_t writer, reader;

	pthread_create(&writer, NULL, write_once, NULL);
	pthread_create(&reader, NULL, read_once, NULL);
	unlock_write();
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	return 0;
}
