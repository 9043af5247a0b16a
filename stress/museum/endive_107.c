/* SPDX-License-Identifier: Apache-2.0
 * endive_107.c - who comes late takes the wakeup of who waits.
 *
 * System     Endive and Chicory, WebAssembly for the JVM (atomicWait)
 * Issue      https://github.com/bytecodealliance/endive/pull/107
 * Year       2026
 * Seen       A rw-lock built on wait and notify deadlocks.
 * Mechanism  To notify means to count one wakeup, for whoever waits at that address. A thread that
 *            begins to wait after that finds the count, takes the wakeup, and goes on. The thread
 *            that was parked when it was notified finds none left, and waits again.
 * Claim      A notify that found a thread parked wakes such a thread.
 * Shows      asleep asleep asleep */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static struct wait_state { /* of one address */
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	int waiters, pending_wakeups;
	unsigned generation; /* how often it was notified */
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER};
static sem_t parked;

static bool is_for(unsigned generation)
{
#ifdef FIXED
	return state.pending_wakeups > 0 && state.generation != generation;
#else
	(void)generation;
	return state.pending_wakeups > 0;
#endif
}

static void wait_until(const struct timespec *deadline)
{
	unsigned generation;
	int result = 0;

	pthread_mutex_lock(&state.mutex);
	generation = state.generation;
	state.waiters++;
	sem_post(&parked);
	while (!is_for(generation) && result != ETIMEDOUT)
		result = deadline ? pthread_cond_timedwait(&state.condition, &state.mutex, deadline)
				  : pthread_cond_wait(&state.condition, &state.mutex);
	state.pending_wakeups -= is_for(generation);
	state.waiters--;
	pthread_mutex_unlock(&state.mutex);
}

static void notify(void)
{
	pthread_mutex_lock(&state.mutex);
	if (state.waiters > state.pending_wakeups) {
		state.pending_wakeups++;
		state.generation++;
		pthread_cond_broadcast(&state.condition);
	}
	pthread_mutex_unlock(&state.mutex);
}

static void *park(void *unused)
{
	wait_until(NULL);
	return unused;
}

int main(void)
{
	pthread_t thread;
	struct timespec soon;

	sem_init(&parked, 0, 0);
	pthread_create(&thread, NULL, park, NULL);
	sem_wait(&parked);
	notify();
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	wait_until(&soon); /* nobody notifies it, so its time ends it */
	pthread_join(thread, NULL);
	return 0;
}
