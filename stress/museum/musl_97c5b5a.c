/* SPDX-License-Identifier: Apache-2.0
 * musl_97c5b5a.c - the word is again what it was, because another one waits.
 *
 * System     musl (pthread_cond_wait)
 * Issue      https://git.librecmc.org/?a=commit&h=97c5b5a87c3d9df54278e1073d6177f77536bd32&p=oweals%2Fmusl.git
 * Year       2011
 * Seen       A thread that was signalled waits on.
 * Mechanism  A waiter sets a word to 1, unlocks the mutex, and waits by the futex as long as the
 *            word is 1. A broadcast sets it to 0. If another thread begins to wait before the first
 *            one is in the futex, the word is 1 again, and the first one sleeps. The fix has each
 *            waiter write its own number.
 * Claim      Who waits when a broadcast comes goes on.
 * Shows      asleep asleep asleep */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST = 1, SECOND, WAITERS = SECOND };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_true[WAITERS + 1]; /* what each one waits for; under the mutex */
static atomic_uint block;         /* of the condition */

static void wait_with_token(unsigned token)
{
	block = token;
	pthread_mutex_unlock(&mutex);
	do
		syscall(SYS_futex, &block, FUTEX_WAIT_PRIVATE, token, NULL, NULL, 0);
	while (block == token);
	pthread_mutex_lock(&mutex);
}

static void broadcast(void)
{
	block = 0;
	syscall(SYS_futex, &block, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void *await_first(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!is_true[FIRST])
		wait_with_token(FIRST);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *await_second(void *unused)
{
#ifdef FIXED
	unsigned token = SECOND;
#else
	unsigned token = FIRST;
#endif

	pthread_mutex_lock(&mutex);
	if (!is_true[SECOND])
		wait_with_token(token); /* once: it may also end for no reason */
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void make_true(int number)
{
	pthread_mutex_lock(&mutex);
	is_true[number] = true;
	pthread_mutex_unlock(&mutex);
	broadcast();
}

int main(void)
{
	pthread_t first, second;

	pthread_create(&first, NULL, await_first, NULL);
	pthread_create(&second, NULL, await_second, NULL);
	make_true(FIRST);
	pthread_join(first, NULL);
	make_true(SECOND);
	pthread_join(second, NULL);
	return 0;
}
