/* SPDX-License-Identifier: Apache-2.0
 * rocksdb_9009.c - the limit is gone, and with it the one who would end the waiting.
 *
 * System     RocksDB (WriteBufferManager)
 * Issue      https://github.com/facebook/rocksdb/pull/9009
 * Year       2021
 * Seen       Writers that were stalled stay stalled after the limit was set to 0, which means none.
 * Mechanism  A writer that finds too much memory in use queues itself and waits. Who frees memory
 *            ends the stall, but first looks whether there is a limit at all, and if not, has
 *            nothing to do. If the limit is set to 0 while a writer waits, nobody wakes it.
 * Claim      A writer waits only while there is a limit that is reached.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { LIMIT = 1 };

static atomic_int limit = LIMIT, used = LIMIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_stalled; /* the writer is in the queue */
static sem_t stall_ended;

static bool is_enabled(void)
{
	return limit > 0;
}

static bool should_stall(void)
{
	return is_enabled() && used >= limit;
}

static void maybe_end_stall(void)
{
#ifndef FIXED
	if (!is_enabled())
		return;
#endif
	if (should_stall())
		return;
	pthread_mutex_lock(&mutex);
	if (is_stalled) {
		is_stalled = false;
		sem_post(&stall_ended);
	}
	pthread_mutex_unlock(&mutex);
}

static void *write_something(void *unused)
{
	bool stalls;

	pthread_mutex_lock(&mutex);
	stalls = should_stall();
	is_stalled = stalls;
	pthread_mutex_unlock(&mutex);
	if (stalls)
		sem_wait(&stall_ended);
	return unused;
}

static void set_limit(int next)
{
	limit = next;
	maybe_end_stall();
}

static void free_memory(void)
{
	used--;
	maybe_end_stall();
}

int main(void)
{
	pthread_t writer;

	sem_init(&stall_ended, 0, 0);
	pthread_create(&writer, NULL, write_something, NULL);
	set_limit(0);
	free_memory();
	pthread_join(writer, NULL);
	return 0;
}
