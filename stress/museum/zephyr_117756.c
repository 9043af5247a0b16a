/* SPDX-License-Identifier: Apache-2.0
 * zephyr_117756.c - who is faster is in the next round already, and counts itself there.
 *
 * System     Zephyr (POSIX barrier)
 * Issue      https://github.com/zephyrproject-rtos/zephyr/issues/117756
 * Year       2026
 * Seen       Threads that pass a barrier in a loop deadlock.
 * Mechanism  Who comes last sets the count to 0 and signals; who waits goes on if the count is 0,
 *            and else waits again. The last one comes back for the next round, and counts itself,
 *            before the one that was signalled has looked: that one finds 1, and waits again.
 * Claim      Who was counted in a round that is complete goes on.
 * Shows      asleep asleep asleep */
#include <pthread.h>

enum { THREADS = 2, ROUNDS = 2 };

static struct barrier {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	int count;
#ifdef FIXED
	unsigned cycle;
#endif
} barrier = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};

#ifdef FIXED
static void wait_for_all(void)
{
	unsigned cycle;

	pthread_mutex_lock(&barrier.mutex);
	cycle = barrier.cycle;
	if (++barrier.count == THREADS) {
		barrier.count = 0;
		barrier.cycle++;
		pthread_cond_broadcast(&barrier.condition);
	}
	while (cycle == barrier.cycle)
		pthread_cond_wait(&barrier.condition, &barrier.mutex);
	pthread_mutex_unlock(&barrier.mutex);
}
#else
static void wait_for_all(void)
{
	pthread_mutex_lock(&barrier.mutex);
	if (++barrier.count == THREADS)
		barrier.count = 0;
	while (barrier.count)
		pthread_cond_wait(&barrier.condition, &barrier.mutex);
	pthread_cond_signal(&barrier.condition); /* the next one of those that wait */
	pthread_mutex_unlock(&barrier.mutex);
}
#endif

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		wait_for_all();
	return unused;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, work, NULL);
	work(NULL);
	pthread_join(other, NULL);
	return 0;
}
