/* SPDX-License-Identifier: Apache-2.0
 * lock.c - three threads add to a counter under a spinlock: that of -DLOCK.
 * Claim: one thread at a time has the lock, and sees what those before it have written.
 * BUG: a thread adds without the lock. */
#include <assert.h>
#include <ck_spinlock.h>
#include <pthread.h>

#define FAS 1
#define TICKET 2
#define MCS 3

#ifndef THREADS
#define THREADS 3
#endif

static int counter;

#if LOCK == FAS
static ck_spinlock_fas_t lock = CK_SPINLOCK_FAS_INITIALIZER;
#define ACQUIRE() ck_spinlock_fas_lock(&lock)
#define RELEASE() ck_spinlock_fas_unlock(&lock)
#elif LOCK == TICKET
static ck_spinlock_ticket_t lock = CK_SPINLOCK_TICKET_INITIALIZER;
#define ACQUIRE() ck_spinlock_ticket_lock(&lock)
#define RELEASE() ck_spinlock_ticket_unlock(&lock)
#else
static ck_spinlock_mcs_t lock;
static ck_spinlock_mcs_context_t nodes[THREADS];
#define ACQUIRE() ck_spinlock_mcs_lock(&lock, &nodes[(long)who])
#define RELEASE() ck_spinlock_mcs_unlock(&lock, &nodes[(long)who])
#endif

static void *add(void *who)
{
	(void)who;
	ACQUIRE();
	counter++;
	RELEASE();
	return NULL;
}

int main(void)
{
	pthread_t others[THREADS - 1];

	for (long at = 1; at < THREADS; at++)
		pthread_create(&others[at - 1], NULL, add, (void *)at);
#ifdef BUG
	counter++;
#else
	add(NULL);
#endif
	for (int at = 0; at < THREADS - 1; at++)
		pthread_join(others[at], NULL);
	assert(counter == THREADS);
	return 0;
}
