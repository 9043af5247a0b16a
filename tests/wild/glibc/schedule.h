/* SPDX-License-Identifier: Apache-2.0
 * schedule.h - takers of items whose schedule is fixed in part: each is in line, and has released the
 * mutex, before it looks for its signal, and it looks when the main thread says so.  The first taker,
 * which has an item of its own, takes the mutex again as late as the main thread wants.
 * The program defines TAKERS. */
#pragma once
#include "condition.h"
#include <stdatomic.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_item = PTHREAD_COND_INITIALIZER;
static int first_item, items;
static atomic_int may_look[TAKERS], may_begin, may_lock, waits, has_taken;
static _Thread_local int who;
static _Thread_local int looks, turn;

static void await(atomic_int *word, int value)
{
	while (*word < value)
		;
}

int unlock_to_wait(pthread_mutex_t *held)
{
	int failed = pthread_mutex_unlock(held);

	if (looks++ == 0) {
		waits++;
		await(&may_look[who], turn);
	}
	return failed;
}

int lock_after_wait(pthread_mutex_t *wanted)
{
	if (who == 0)
		await(&may_lock, 1);
	return pthread_mutex_lock(wanted);
}

static void take(int *from)
{
	looks = 0;
	turn++;
	pthread_mutex_lock(&mutex);
	while (*from == 0)
		___pthread_cond_wait(&has_item, &mutex);
	*from -= 1;
	pthread_mutex_unlock(&mutex);
}

static void *first(void *unused)
{
	take(&first_item);
	return unused;
}

static void give(int *to, int signals)
{
	pthread_mutex_lock(&mutex);
	*to += 1;
	if (signals)
		___pthread_cond_signal(&has_item);
	pthread_mutex_unlock(&mutex);
}
