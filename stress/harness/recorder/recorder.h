/* SPDX-License-Identifier: Apache-2.0
 * recorder.h - runs one scenario again and again on real cores and prints the steps of its actors.
 *
 *   actor, one thread each                main
 *   wait for the round                    renew the state, empty the rings, begin the round
 *   run; each event after a random        an actor is at its limit, or all sleep: stop all
 *   delay; at the limit, or stopped:      all have ended or sleep: wake the sleepers, to end them
 *   leave                                 print the rings
 *
 * Why it works  An actor is left before an access or after a sleep, so the record is the beginning
 *               of what it would have done. A sleeper is woken by main only when no actor is left
 *               that could wake it or fail to. Its last event then has no end.
 * Spec          none.
 * Evidence      tests/judge/traces/test_recorder.py.
 *
 * Compiled without recorder/instrument.h, because the recorder does not record itself. Output, one
 * line each:
 *   r ROUND                                                           a round begins
 *   e ACTOR BEGIN END FILE LINE NAME PLACE OPERAND RESULT HAPPENED    end 0: it did not return
 *   x ACTOR returned|stopped
 *   end ROUNDS
 * PLACE is an offset in the state, or -. A value that is such an address is printed as @OFFSET. */
#ifndef WP_STRESS_RECORDER_H
#define WP_STRESS_RECORDER_H

#include <pthread.h>
#include <setjmp.h>

#include "stress.h"
#include "harness/recorder/access_log.h"

enum recorder_place { RUNNING, ASLEEP, RETURNED, STOPPED };

/* One thread. It writes this; between rounds main does. */
typedef struct recorder_actor {
	_Alignas(WP_LINE) wp_events events; /* must be first: wp_events_mine points to it */
	wp_atomic(int) place;
	wp_atomic(uintptr_t) word; /* the word that it sleeps on */
	uint64_t random;
	uint64_t pace; /* about the number of events between two that give the CPU away */
	int index;
	jmp_buf out;
	pthread_t thread;
} recorder_actor;

typedef struct recorder {
	const stress_test *test;
	int actors_count;
	uint64_t rounds, limit, ring, seed; /* limit: events per actor and round */
	char *state;
	size_t state_bytes;
	_Atomic(uint64_t) clock;
	wp_atomic(uint64_t) round; /* the round that runs now. Writer: main. */
	wp_atomic(int) stop;       /* writer: main */
	recorder_actor actors[STRESS_ACTORS];
} recorder;

extern recorder recorder_all;

/* actor.c */
void recorder_before(wp_events *events);
void *recorder_body(void *actor);

/* oversee.c */
void recorder_oversee(void); /* waits until all actors have ended [main | blocks] */

/* print.c */
void recorder_print(const recorder_actor *actor);

#endif
