/* SPDX-License-Identifier: Apache-2.0
 * compiled.h - shared by the parts of a program that is compiled code.
 *
 *   compiled.c            the program: positions; each step is run twice
 *   compiled_run.c        runs an actor to its next operation
 *   compiled_steps.c      instrumented operations and their sites
 *   compiled_plain.c      the compiler's hooks: plain accesses
 *   compiled_copies.c     memcpy, memmove, memset
 *   compiled_memory.c     the bytes of the state: locations, and what an actor finds there
 *   compiled_positions.c  the tables of an actor
 *
 * One program and one actor run at a time, because the hooks have no argument that names them. */
#ifndef WP_EXPLORER_COMPILED_H
#define WP_EXPLORER_COMPILED_H

#define WP_EXPLORE
#define WP_INSTRUMENT "explorer/instrument.h" /* its declarations */
#include <string.h>

#include "coroutine.h"
#include "scenario.h"

enum {
	EVENTS = 16,                       /* most eventfds of a scenario */
	EVENT = 64,                        /* bytes of each */
	STATE_MOST = EXPLORE_ARENA - 4096, /* most bytes of a state; the events lie behind it */
	SITES_MOST = 1024,
	COPY_MOST = 1024,  /* most bytes of the state in one copy or set */
	CHOICES_MOST = 64, /* as in the state engine */
	NAME = 48,
	NOTHING = -1,
};

typedef struct position {
	explore_step step;
	uint32_t used; /* bytes of stack */
	char *stack;
	explore_position same_hash; /* + 1; the next in the hash chain */
} position;

typedef struct turn { /* from a position, with a value, to the next position */
	explore_position from, to;
	uint64_t value;
	bool failed, is_used;
} turn;

typedef struct actor {
	position *positions;
	uint32_t count, room;
	explore_position *buckets; /* position + 1 */
	uint32_t buckets_count;
	turn *turns; /* open addressing */
	uint32_t turns_count, turns_room;
	explore_position first;
	bool has_started;
} actor;

typedef struct word { /* the bytes of the state that are one location */
	uint32_t offset;
	uint8_t size;
	bool is_atomic; /* an atomic operation uses it, so it is never taken in parts */
} word;

typedef struct compiled {
	explore_program program;
	const stress_test *test;
	actor actors[EXPLORE_THREADS];
	const void *code[STRESS_ACTORS]; /* the address at which each actor begins */
	explore_step failure;            /* of the arbiter */
	int events;                      /* number of events that init has opened */
	char image[EXPLORE_ARENA];       /* the arena after init */
	/* The first byte of a location has its number + 1, the other bytes have -(number + 1). */
	int16_t location_at[EXPLORE_ARENA];
	word places[EXPLORE_LOCATIONS];
	/* No plain access spans this byte and the one before it as one word. Kept when the
	 * exploration starts again. */
	bool is_cut[EXPLORE_ARENA];
	char names[EXPLORE_LOCATIONS][NAME];
	bool is_written[EXPLORE_ARENA]; /* by an actor; kept when the exploration starts again */
	bool is_assumed[EXPLORE_ARENA]; /* a load was answered with the initial value */
	explore_site sites[SITES_MOST];
	char files[SITES_MOST][NAME];
	char error[256];
} compiled;

/* The step that the paused actor wants to take. */
typedef struct asked {
	explore_step step;            /* without its site and its location */
	char *place;                  /* NULL: it touches no memory */
	const wp__explore_site *site; /* NULL: none, or it is a plain access */
	const void *from;             /* of a plain access, the address after it */
} asked;

/* A plain store that was announced by its hook and is not a step yet. */
typedef struct written {
	char *place;
	unsigned size; /* 0: none */
	unsigned is_volatile;
	const void *from;
} written;

/* The data of an actor at the end of its stack. */
typedef struct top {
	uint64_t turns; /* of loops that wait for another thread and change memory */
	uint64_t interrupts;
	uint64_t failed_fences;
	written written;
	stress_result result;
} top;

/* compiled.c */
extern compiled *compiled_now; /* the only program with actors that may run */
/* Sets the program's error, unless it is set already. */
void compiled_fail(const char *format, ...);

/* compiled_run.c */
extern int compiled_actor; /* the actor that runs; NOTHING: init or arbiter, which act directly */
extern asked compiled_asked;
extern bool compiled_is_over;   /* the paused actor can never be resumed */
extern uint64_t compiled_given; /* the value for the actor that is resumed */
extern bool compiled_given_failed;
/* Runs the actor from its start, or from a position with a value. Memory is filled with `pattern`
 * first. */
explore_position compiled_begin(int which, unsigned char pattern);
explore_position compiled_run(int which, explore_position from, uint64_t value, bool failed,
			      unsigned char pattern);
/* Runs init, or the arbiter with its result. It is an error if that does not return. */
void compiled_alone(stress_result *result);
/* The running actor has done what would end a process: an assertion failed, or it crashed. `from`
 * is the address after it; 0: `site` has the place. Never returns. */
_Noreturn void compiled_end(const char *text, bool is_crash, const void *from,
			    const wp__explore_site *site);
/* Time, addresses or random numbers that an actor reads make two runs of one step differ. */
void compiled_check_same(int which, explore_position first, explore_position second,
			 const explore_step *after);

/* compiled_plain.c */
/* False: the place is not in the state, or there was an error. */
bool compiled_is_state(const char *place, unsigned long size, bool writes, const void *from);
/* Make the steps of the running actor, word by word. A load also leaves its bytes in the state. */
void compiled_load(char *place, unsigned size, char *bytes, const void *from, bool is_volatile);
void compiled_store(char *place, unsigned size, const char *bytes, const void *from,
		    bool is_volatile);
/* A store of exactly these bytes. */
bool compiled_is_announced(const char *place, unsigned long size);
void compiled_settle(void); /* turns the announced store, which has been done, into steps */
/* Compiled code took a store as not done, because its place held the pattern. */
extern bool compiled_has_guessed;
void compiled_found_nothing(void); /* the bytes that were loaded last are no longer in the state */

/* compiled_steps.c */
top *compiled_top(void);          /* of the running actor */
explore_step compiled_step(void); /* the step in compiled_asked, without its location */
/* For error messages: the operation without the prefix of the instrument; the operation and the
 * line of a step. */
const char *compiled_bare(const char *what);
enum { COMPILED_TEXT = 64 };
void compiled_describe(const explore_step *step, char text[COMPILED_TEXT]);
char *compiled_event_word(int event); /* EVENT bytes of the arena */

/* compiled_memory.c */
static inline uint64_t compiled_read(const void *at, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, at, size); /* little-endian, as both architectures are */
	return value;
}

static inline void compiled_write(void *at, unsigned size, uint64_t value)
{
	memcpy(at, &value, size);
}

/* The state, the events, or the bytes between. */
bool compiled_is_shared(const volatile char *place);
/* False: the bytes between. The error is set. */
bool compiled_check_inside(int which, const char *place, unsigned size);
bool compiled_is_own_stack(const volatile char *place); /* of the running actor */
/* The location at `place`, which is made if there is none. NOTHING: an error was set. If plain
 * words overlap others, they are cut, and the error is EXPLORE_START_AGAIN. */
int compiled_location(const char *place, unsigned size, const char *what, bool is_atomic);
/* The bytes of a plain access's next word. */
unsigned compiled_part(const char *place, unsigned size);
void compiled_fill(unsigned char pattern); /* the state, and some bytes behind it */
bool compiled_check_image(void);           /* has init written nothing beyond its state? */
void compiled_put(char *place, unsigned size, uint64_t value); /* the value that a load will find */
void compiled_put_bytes(char *place, const char *bytes, unsigned size);
/* Fills the place with the pattern again. */
void compiled_unput(char *place, unsigned size);
bool compiled_is_unput(const char *place, unsigned size); /* does the place hold the pattern? */
void compiled_assume(char *place, unsigned size);         /* a load finds the initial value */
/* Does the state hold what was filled in, put and noted? */
void compiled_check_untouched(int which);
bool compiled_is_written(const char *place, unsigned size);
/* An actor writes there, so no load may be answered with the initial value. If one was, the
 * exploration starts again. */
void compiled_note_written(const char *place, unsigned size);

/* compiled_positions.c */
/* The number of the position that has this step and these bytes of stack. */
explore_position compiled_number(actor *actor, const explore_step *step, const char *stack,
				 uint32_t used);
turn *compiled_turn(actor *actor, explore_position from, uint64_t value, bool failed);
void compiled_forget(actor *actor);

#endif
