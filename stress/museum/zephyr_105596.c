/* SPDX-License-Identifier: Apache-2.0
 * zephyr_105596.c - it takes the interrupt that is meant for itself, and sends it to nobody.
 *
 * System     Zephyr (kernel, SMP)
 * Issue      https://github.com/zephyrproject-rtos/zephyr/pull/105596
 * Year       2026
 * Seen       A processor idles for ever, with a thread that is ready and pinned to it.
 * Mechanism  Interrupts for other processors are noted in a mask, under the scheduler's lock, and
 *            whoever takes the mask sends them, except to itself. A processor that has found
 *            nothing to run takes the mask after it has let go of the lock. If its own bit was
 *            noted in between, the bit is gone, nobody sends the interrupt, and it does not look
 *            again.
 * Claim      A thread that is ready is run by the processor that it is pinned to.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { PROCESSORS = 2, WAKER = 0, IDLE = 1 };

static pthread_mutex_t scheduler = PTHREAD_MUTEX_INITIALIZER;
static bool has_ready; /* pinned to the second processor; under the lock */
static atomic_uint pending;
static sem_t interrupts[PROCESSORS];

static void signal_pending(int here)
{
	unsigned mask = atomic_exchange(&pending, 0);

	for (int i = 0; i < PROCESSORS; i++)
		if (mask & 1u << i && i != here)
			sem_post(&interrupts[i]);
}

static void make_ready(void)
{
	pthread_mutex_lock(&scheduler);
	has_ready = true;
	atomic_fetch_or(&pending, 1u << IDLE);
	pthread_mutex_unlock(&scheduler);
	signal_pending(WAKER);
}

/* Returns whether there is a thread to be run, other than the idle one. */
static bool choose_next(void)
{
	bool found;

	pthread_mutex_lock(&scheduler);
	found = has_ready;
#ifdef FIXED
	signal_pending(IDLE);
#endif
	pthread_mutex_unlock(&scheduler);
#ifndef FIXED
	signal_pending(IDLE);
#endif
	return found;
}

static void *run_processor(void *unused)
{
	while (!choose_next())
		sem_wait(&interrupts[IDLE]);
	return unused;
}

int main(void)
{
	pthread_t processor;

	for (int i = 0; i < PROCESSORS; i++)
		sem_init(&interrupts[i], 0, 0);
	pthread_create(&processor, NULL, run_processor, NULL);
	make_ready();
	pthread_join(processor, NULL);
	return 0;
}
