/* SPDX-License-Identifier: Apache-2.0
 * repeat.h - shared by the parts that repeat a program on real cores.
 *
 *   repeat.c          the `main`: runs the program again and again, and counts how it ends
 *   repeat_watch.c    proves that all threads of a run sleep for ever
 *   repeat_delays.c   delays of the accesses and calls, in the build that has them
 *
 * Spec          none.
 * Evidence      tests/judge/own/test_stress.py. */
#ifndef WP_REPEAT_H
#define WP_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { REPEAT_THREADS = 64 };

/* What is known of a run whose threads do nothing. */
typedef struct repeat_look {
	int threads; /* 0: some thread may go on */
	struct {
		long tid;
		uint64_t switches;         /* how often it has stopped */
		unsigned long word, value; /* it sleeps on this word while it has this value */
	} of[REPEAT_THREADS];
} repeat_look;

/* Of the threads of a process: all sleep on futexes, without a deadline. */
repeat_look repeat_look_at(pid_t process);
/* No thread has run from the first look to the second one, so none is left to wake another. */
bool repeat_is_asleep(const repeat_look *first, const repeat_look *second);

void repeat_delays(uint64_t seed); /* of the run that begins */

#endif
