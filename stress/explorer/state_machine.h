/* SPDX-License-Identifier: Apache-2.0
 * state_machine.h - one state of a program, unpacked, and the steps that lead out of it.
 *
 *   explore_machine_reset                       goes to the state before the first step
 *   explore_machine_choices                     lists every step that a thread can take here
 *   explore_machine_take(choice)                takes one
 *   explore_machine_undo                        takes it back
 *
 * Why it works  A state differs from its successor in one or two values and in the position of one
 *               thread. So undoing a step costs as much as taking it, and nothing is copied. The
 *               step of a thread at a position, and the position to which a value leads, are
 *               computed once and kept.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_MACHINE_H
#define WP_EXPLORER_STATE_MACHINE_H

#include "explore.h"

enum {
	EXPLORE_BUFFERED = 16,       /* most stores in the buffer of a thread */
	EXPLORE_CHOICES = 1 << 14,   /* most choices in one state; more is an error */
	EXPLORE_VALUES = 64,         /* most values of one choice */
	EXPLORE_POSITIONS = 1 << 24, /* per thread */
};

enum explore_choice_kind {
	EXPLORE_TAKE,     /* the thread takes its step */
	EXPLORE_TAKE_NOT, /* a weak compare-and-swap fails spuriously */
	EXPLORE_TIME_OUT, /* the deadline of a sleeper passes */
	EXPLORE_WAKE_SPURIOUSLY,
	EXPLORE_DRAIN, /* the oldest buffered store of the thread reaches memory */
};

typedef struct explore_choice {
	uint8_t kind;
	uint8_t thread;
	uint16_t woken; /* EXPLORE_WAKE: one bit per woken thread; EXPLORE_CHOOSE: the value */
} explore_choice;

/* Does the choice happen some time if it stays possible? No program may rely on the others. */
static inline bool explore_is_promised(explore_choice choice)
{
	return choice.kind != EXPLORE_TAKE_NOT && choice.kind != EXPLORE_WAKE_SPURIOUSLY;
}

typedef struct explore_buffered {
	int location;
	int writer; /* the event of the store, while events are kept */
	uint64_t value;
} explore_buffered;

/* The part of a state that belongs to one thread. */
typedef struct explore_actor {
	explore_position position;
	bool is_asleep;
	uint8_t spurious; /* spurious wakeups so far of the wait at spurious_at, if not 0 */
	explore_position spurious_at;
	uint32_t segment; /* the plain accesses since its last step; see state_races.h */
	int buffered;
	/* Oldest first; the last member: see explore_copy_actor. */
	explore_buffered buffer[EXPLORE_BUFFERED];
} explore_actor;

/* The events on the way to this state, while they are kept. */
typedef struct explore_history {
	explore_event *events;
	int count, room;
	/* The events that wrote the values in memory; -1: initial. */
	int writers[EXPLORE_LOCATIONS];
	int waits[EXPLORE_THREADS]; /* the event in which a sleeper fell asleep */
} explore_history;

typedef struct explore_machine {
	explore_program *program;
	const explore_options *options;
	uint64_t values[EXPLORE_LOCATIONS];
	explore_actor actors[EXPLORE_THREADS];
	struct explore_known *known[EXPLORE_THREADS]; /* by position */
	uint32_t known_room[EXPLORE_THREADS];
	explore_history *history; /* NULL: events are not kept */
	/* The effects of the last explore_machine_take. */
	uint64_t given;
	unsigned touched; /* one bit per thread */
	explore_actor before[EXPLORE_THREADS];
	struct explore_undo {
		int location;
		uint64_t value;
	} *undo;
	int undo_count, undo_room;
	/* NULL: races are not judged. When a reset or a take meets a race, it sets is_raced; the
	 * state then does not count, and the first events_raced events lead to the race. */
	struct explore_segments *segments;
	bool is_raced;
	int events_raced;
	bool is_bounded; /* a store waited because its buffer was full: some runs were not seen */
	/* A question is being asked; answers do not count as met by the exploration. */
	bool is_asking;
	/* Only what was met before counts; for the rest the machine gives up. */
	bool is_view;
	/* Merging positions also asks for values that were met at other positions with the same
	 * step. */
	bool asks_elsewhere;
	uint64_t met;      /* number of pairs (position, value) that were met */
	int locations;     /* the number of locations known so far */
	const char *error; /* not NULL: the exploration gives up */
} explore_machine;

/* False: no memory, or the program has an error (machine->error). */
bool explore_machine_init(explore_machine *machine, explore_program *program,
			  const explore_options *options);
void explore_machine_fini(explore_machine *machine);
void explore_machine_reset(explore_machine *machine);

/* Makes a view of a machine, for another thread: it shares what is known, and changes nothing of it.
 * It begins with the initial values. It is valid until `machine` takes a step. False: no memory. */
bool explore_machine_view(explore_machine *view, const explore_machine *machine);
void explore_machine_view_fini(explore_machine *view);

/* The step that the thread wants to take at its position. */
const explore_step *explore_machine_step(explore_machine *machine, int thread);

/* The position to which the value leads the thread. Its step must have been asked for before. */
explore_position explore_machine_next(explore_machine *machine, int thread, uint64_t value,
				      bool is_failed);

/* Sets machine->error, unless it is set already. Returns false. */
bool explore_machine_give_up(explore_machine *machine, const char *error);

/* Returns the number of choices. Their order is always the same. */
int explore_machine_choices(explore_machine *machine, explore_choice choices[EXPLORE_CHOICES]);

/* False: machine->error is set. */
bool explore_machine_take(explore_machine *machine, explore_choice choice);
void explore_machine_undo(explore_machine *machine);

/* Whether the execution goes on in this state. */
enum explore_standing { EXPLORE_GOES_ON, EXPLORE_IS_ABANDONED, EXPLORE_IS_OVER };
enum explore_standing explore_machine_standing(explore_machine *machine,
					       const explore_choice *choices, int count,
					       enum explore_verdict *verdict);

/* Writes the text of an outcome. Changes the verdict if the arbiter fails. */
void explore_machine_outcome(explore_machine *machine, enum explore_verdict *verdict,
			     char text[EXPLORE_TEXT]);

/* Adds an event. NULL: events are not kept, or there is no memory. */
explore_event *explore_history_add(explore_machine *machine, int thread, const explore_step *step,
				   uint64_t value);
void explore_history_reset(explore_history *history);

/* If an assertion of an actor or of the arbiter has failed, adds it as the last event. */
void explore_history_fail(explore_machine *machine);

#endif
