/* SPDX-License-Identifier: Apache-2.0
 * actor.c - one actor: delayed before each event, watched when it sleeps, left when it must end. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "recorder.h"

enum { PAUSES_SPREAD = 64, NAP_NS = 20000, PACES = 6 };

_Thread_local wp_events *wp_events_mine;

static uint64_t random_of(recorder_actor *me)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return me->random >> 11;
}

/* Called before each event. The delays let threads meet at every place, on however few cores. */
void recorder_before(wp_events *events)
{
	recorder_actor *me = (recorder_actor *)events;
	uint64_t r = random_of(me);

	if (events->count >= recorder_all.limit || wp_load_relaxed(&recorder_all.stop))
		longjmp(me->out, 1);
	if (r % 4 == 1)
		for (uint64_t n = (r >> 8) % PAUSES_SPREAD; n; n--)
			wp_pause();
	else if ((r >> 16) % me->pace == 0)
		sched_yield();
	else if (r % 128 == 3)
		nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* futex.c calls these around each wait. */
void wp__stress_wait_begin(const void *word, uint32_t expected);
void wp__stress_wait_end(void);

void wp__stress_wait_begin(const void *word, uint32_t expected)
{
	recorder_actor *me = (recorder_actor *)wp_events_mine;

	if (!me)
		return;
	wp_store_relaxed(&me->word, (uintptr_t)word);
	wp_store_release(&me->place, ASLEEP);
}

void wp__stress_wait_end(void)
{
	recorder_actor *me = (recorder_actor *)wp_events_mine;

	if (!me)
		return;
	wp_store_release(&me->place, RUNNING);
	if (wp_load_acquire(&recorder_all.stop))
		longjmp(me->out, 1);
}

static void act(recorder_actor *me)
{
	stress_result result = {{0}};

	wp_events_mine = &me->events;
	if (setjmp(me->out) == 0) {
		recorder_all.test->actors[me->index](recorder_all.state, &result);
		wp_events_mine = NULL;
		wp_store_release(&me->place, RETURNED);
		return;
	}
	wp_events_mine = NULL;
	wp_store_release(&me->place, STOPPED);
}

void *recorder_body(void *argument)
{
	recorder_actor *me = argument;

	for (uint64_t round = 1; round <= recorder_all.rounds; round++) {
		while (wp_load_acquire(&recorder_all.round) < round)
			sched_yield();
		me->pace = UINT64_C(2) << random_of(me) % PACES;
		act(me);
	}
	return NULL;
}
