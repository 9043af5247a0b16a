/* SPDX-License-Identifier: Apache-2.0
 * fex_5161.c - the mark of the waiter is in the half of the word that it does not watch.
 *
 * System     FEX-Emu (WritePriorityMutex)
 * Issue      https://github.com/FEX-Emu/FEX/pull/5161
 * Year       2025
 * Seen       An emulated program hangs now and then: a reader sleeps, and the lock is free.
 * Mechanism  A reader that finds a writer sets a mark in the low half of the word, and sleeps while
 *            the high half, where the writer's mark is, is what it saw. The writer unlocks, and
 *            clears both marks; another one locks. The high half is the same again, so the reader
 *            sleeps; its own mark is gone, so the second writer wakes nobody.
 * Claim      A reader that sleeps is woken by who unlocks.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WRITER = UINT32_C(1) << 29, HIGH_SHIFT = 16 };
#ifdef FIXED
enum { READER_WAITS = UINT32_C(1) << 30 };
#else
enum { READER_WAITS = UINT32_C(1) << 15 };
#endif

static atomic_uint word;
/* The wait for an address, of half a word: it compares and sleeps in one step. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void wait_while_high_half_is(unsigned seen)
{
	pthread_mutex_lock(&mutex);
	if (word >> HIGH_SHIFT == seen >> HIGH_SHIFT)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void wake_readers(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
}

static void lock_shared(void)
{
	unsigned seen = word;

	for (;;) {
		if (!(seen & WRITER)) {
			if (atomic_compare_exchange_strong(&word, &seen, seen + 1))
				return;
		} else if (atomic_compare_exchange_strong(&word, &seen, seen | READER_WAITS)) {
			wait_while_high_half_is(seen | READER_WAITS);
			seen = word;
		}
	}
}

static bool try_lock(void)
{
	unsigned seen = word;

	return !(seen & WRITER) && atomic_compare_exchange_strong(&word, &seen, seen | WRITER);
}

static void unlock(void)
{
	if (atomic_fetch_and(&word, ~(WRITER | READER_WAITS)) & READER_WAITS)
		wake_readers();
}

static void *read_shared(void *unused)
{
	lock_shared();
	return unused;
}

int main(void)
{
	pthread_t reader;

	word = WRITER; /* main has the lock */
	pthread_create(&reader, NULL, read_shared, NULL);
	unlock();
	if (try_lock()) /* as another writer would */
		unlock();
	pthread_join(reader, NULL);
	return 0;
}
