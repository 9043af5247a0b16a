/* SPDX-License-Identifier: Apache-2.0
 * state_machine.h - one state of a program, unpacked, and the steps that lead out of it.
 *
 *   explore_machine_reset                       before the first step
 *   explore_machine_choices                     every step that somebody can take here
 *   explore_machine_take(choice)                takes it
 *   explore_machine_undo                        takes it back
 *
 * Why it works  A state differs from the next in a value or two and one thread's position, so
 *               taking a step back costs as much as taking it, and nothing is copied. What a thread
 *               does at a position, and where a value leads it, is asked once and kept.
 * Spec          none. Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_MACHINE_H
#define WP_EXPLORER_STATE_MACHINE_H

#include "explore.h"

enum {
	EXPLORE_BUFFERED = 16,       /* stores that wait in a thread's buffer, at the most */
	EXPLORE_CHOICES = 1 << 14,   /* out of one state; beyond is an error */
	EXPLORE_VALUES = 64,         /* of a choice, at the most */
	EXPLORE_POSITIONS = 1 << 24, /* per thread */
};

enum explore_choice_kind {
	EXPLORE_TAKE,     /* the thread's step */
	EXPLORE_TAKE_NOT, /* a weak compare-and-swap that fails although it could take place */
	EXPLORE_TIME_OUT, /* of a sleeper */
	EXPLORE_WAKE_SPURIOUSLY,
	EXPLORE_DRAIN, /* the thread's oldest buffered store reaches memory */
};

typedef struct explore_choice {
	uint8_t kind;
	uint8_t thread;
	uint16_t woken; /* EXPLORE_WAKE: a bit per thread; EXPLORE_CHOOSE: the value */
} explore_choice;

typedef struct explore_buffered {
	int location;
	int writer; /* its event, while events are kept */
	uint64_t value;
} explore_buffered;

/* A thread's part of a state. */
typedef struct explore_actor {
	explore_position position;
	bool is_asleep;
	uint8_t spurious; /* spurious wakeups so far of the wait at spurious_at, if not 0 */
	explore_position spurious_at;
	uint32_t segment; /* plain accesses since its last step; see state_races.h */
	int buffered;
	explore_buffered buffer[EXPLORE_BUFFERED]; /* the oldest first; last: see copy_actor */
} explore_actor;

/* The events that led here, while they are kept. */
typedef struct explore_history {
	explore_event *events;
	int count, room;
	int writers[EXPLORE_LOCATIONS]; /* of the values in memory; -1: initial */
	int waits[EXPLORE_THREADS];     /* the event in which a sleeper fell asleep */
} explore_history;

typedef struct explore_machine {
	explore_program *program;
	const explore_options *options;
	uint64_t values[EXPLORE_LOCATIONS];
	explore_actor actors[EXPLORE_THREADS];
	struct explore_known *known[EXPLORE_THREADS]; /* by position */
	uint32_t known_room[EXPLORE_THREADS];
	explore_history *history; /* NULL: events are not kept */
	/* What the last explore_machine_take did. */
	uint64_t given;
	unsigned touched; /* a bit per thread */
	explore_actor before[EXPLORE_THREADS];
	struct explore_undo {
		int location;
		uint64_t value;
	} *undo;
	int undo_count, undo_room;
	/* Races: NULL, they are not judged. Set by a reset or a take: the state counts no more, and
	 * of the events so many lead to the race. */
	struct explore_segments *segments;
	bool is_raced;
	int events_raced;
	bool is_bounded; /* a store waited because its buffer was full: not every run was seen */
	bool is_asking;  /* what is learned now is not met by the exploration */
	bool asks_elsewhere; /* to merge positions: what was met at others with the same step */
	uint64_t met;        /* values at positions, each once */
	int locations;       /* known so far */
	const char *error;   /* not NULL: give up */
} explore_machine;

/* False: no memory, or the program has an error (machine->error). */
bool explore_machine_init(explore_machine *machine, explore_program *program,
			  const explore_options *options);
void explore_machine_fini(explore_machine *machine);
void explore_machine_reset(explore_machine *machine);

/* The step that the thread wants to take where it is. */
const explore_step *explore_machine_step(explore_machine *machine, int thread);

/* Where the value leads it; its step must have been asked for. */
explore_position explore_machine_next(explore_machine *machine, int thread, uint64_t value,
				      bool is_failed);

/* Sets machine->error, unless there is one; gives false. */
bool explore_machine_give_up(explore_machine *machine, const char *error);

/* How many; always in the same order. */
int explore_machine_choices(explore_machine *machine, explore_choice choices[EXPLORE_CHOICES]);

/* False: machine->error. */
bool explore_machine_take(explore_machine *machine, explore_choice choice);
void explore_machine_undo(explore_machine *machine);

/* How a state stands. */
enum explore_standing { EXPLORE_GOES_ON, EXPLORE_IS_ABANDONED, EXPLORE_IS_OVER };
enum explore_standing explore_machine_standing(explore_machine *machine,
					       const explore_choice *choices, int count,
					       enum explore_verdict *verdict);

/* The text of an outcome, whose verdict is another one if the arbiter fails. */
void explore_machine_outcome(explore_machine *machine, enum explore_verdict *verdict,
			     char text[EXPLORE_TEXT]);

/* A new event, or NULL if events are not kept. */
explore_event *explore_history_add(explore_machine *machine, int thread, const explore_step *step,
				   uint64_t value);
void explore_history_reset(explore_history *history);

/* If an assertion has failed, an actor's or the arbiter's, adds it as the last event. */
void explore_history_fail(explore_machine *machine);

#endif
