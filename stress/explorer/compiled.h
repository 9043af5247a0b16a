/* SPDX-License-Identifier: Apache-2.0
 * compiled.h - what the parts of the compiled program share.
 *
 *   compiled.c            the program: positions, each step run twice
 *   compiled_run.c        runs an actor to its next operation
 *   compiled_steps.c      instrumented operations and their sites
 *   compiled_plain.c      the compiler's hooks: plain accesses
 *   compiled_copies.c     memcpy, memmove, memset
 *   compiled_memory.c     the state's bytes: locations, and what an actor finds there
 *   compiled_positions.c  an actor's tables
 *
 * One program and one actor at a time: the hooks have no argument that says whose they are. */
#ifndef WP_EXPLORER_COMPILED_H
#define WP_EXPLORER_COMPILED_H

#define WP_EXPLORE
#define WP_INSTRUMENT "explorer/instrument.h" /* its declarations */
#include <string.h>

#include "coroutine.h"
#include "scenario.h"

enum {
	EVENTS = 16,                       /* eventfds of a scenario */
	EVENT = 64,                        /* bytes of each */
	STATE_MOST = EXPLORE_ARENA - 4096, /* bytes; events lie behind */
	SITES_MOST = 1024,
	COPY_MOST = 1024,  /* bytes of the state that are copied or set at once */
	CHOICES_MOST = 64, /* as the state engine has it */
	NAME = 48,
	NOTHING = -1,
};

typedef struct position {
	explore_step step;
	uint32_t used; /* bytes of stack */
	char *stack;
	explore_position same_hash; /* + 1; chain */
} position;

typedef struct turn { /* from a position, with a value, to the next */
	explore_position from, to;
	uint64_t value;
	bool failed, is_used;
} turn;

typedef struct actor {
	position *positions;
	uint32_t count, room;
	explore_position *buckets; /* + 1 */
	uint32_t buckets_count;
	turn *turns; /* open addressing */
	uint32_t turns_count, turns_room;
	explore_position first;
	bool has_started;
} actor;

typedef struct word { /* bytes of the state that are one location */
	uint32_t offset;
	uint8_t size;
	bool is_atomic; /* for somebody: never taken in parts */
} word;

typedef struct compiled {
	explore_program program;
	const stress_test *test;
	actor actors[EXPLORE_THREADS];
	const void *code[STRESS_ACTORS];    /* where each begins */
	explore_step failure;               /* of the arbiter */
	int events;                         /* opened by init */
	char image[EXPLORE_ARENA];          /* after init */
	int16_t location_at[EXPLORE_ARENA]; /* first byte: location + 1; others: -(location + 1) */
	word places[EXPLORE_LOCATIONS];
	bool is_cut[EXPLORE_ARENA]; /* no plain access spans it as one word; kept over a restart */
	char names[EXPLORE_LOCATIONS][NAME];
	bool is_written[EXPLORE_ARENA]; /* by an actor; kept over a restart */
	bool is_assumed[EXPLORE_ARENA]; /* was answered with its initial value */
	explore_site sites[SITES_MOST];
	char files[SITES_MOST][NAME];
	char error[256];
} compiled;

/* What the actor that has paused wants. */
typedef struct asked {
	explore_step step;            /* without its site and location */
	char *place;                  /* NULL: touches no memory */
	const wp__explore_site *site; /* NULL: none, or a plain access: */
	const void *from;             /* the address after it */
} asked;

/* A plain store that was announced and is no step yet. */
typedef struct written {
	char *place;
	unsigned size; /* 0: none */
	unsigned is_volatile;
	const void *from;
} written;

/* What an actor has at the end of its stack. */
typedef struct top {
	uint64_t turns; /* of loops that wait for others and change memory */
	uint64_t interrupts;
	uint64_t failed_fences;
	written written;
	stress_result result;
} top;

/* compiled.c */
extern compiled *compiled_now;               /* whose actors may run */
void compiled_fail(const char *format, ...); /* sets the program's error, if there is none yet */

/* compiled_run.c */
extern int compiled_actor; /* that runs; NOTHING: init, arbiter: they act directly */
extern asked compiled_asked;
extern bool compiled_is_over;   /* the actor that has paused can never be resumed */
extern uint64_t compiled_given; /* to the actor that is resumed */
extern bool compiled_given_failed;
/* From its start, or from a position with a value, in memory filled with `pattern`. */
explore_position compiled_begin(int which, unsigned char pattern);
explore_position compiled_run(int which, explore_position from, uint64_t value, bool failed,
			      unsigned char pattern);
/* Init, or the arbiter with its result. An error if it does not return. */
void compiled_alone(stress_result *result);
/* What the actor that runs does ends a process: an assertion that does not hold, a crash. `from` is
 * the address after it; 0: `site` says where. Never returns. */
_Noreturn void compiled_end(const char *text, bool is_crash, const void *from,
			    const wp__explore_site *site);
/* Time, addresses or randomness that an actor looks at make two runs of one step differ. */
void compiled_check_same(int which, explore_position first, explore_position second,
			 const explore_step *after);

/* compiled_plain.c */
/* False: it is no state, or an error. */
bool compiled_is_state(const char *place, unsigned long size, bool writes, const void *from);
/* Steps of the actor that runs, word by word. A load also leaves its bytes in the state. */
void compiled_load(char *place, unsigned size, char *bytes, const void *from, bool is_volatile);
void compiled_store(char *place, unsigned size, const char *bytes, const void *from,
		    bool is_volatile);
bool compiled_is_announced(const char *place, unsigned long size); /* a store of exactly that */
void compiled_settle(void);        /* what was announced was done: becomes steps now */
extern bool compiled_has_guessed;  /* that a store was not done, for its place was unput */
void compiled_found_nothing(void); /* what was loaded is no longer in the state */

/* compiled_steps.c */
top *compiled_top(void);          /* of the actor that runs */
explore_step compiled_step(void); /* the one that is asked for, without its location */
/* Of an error: an operation without the instrument's prefix; a step's operation and line. */
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

bool compiled_is_shared(const volatile char *place); /* state, events or what lies between */
/* False, and an error: between them. */
bool compiled_check_inside(int which, const char *place, unsigned size);
bool compiled_is_own_stack(const volatile char *place); /* of the actor that runs */
/* The location at `place`, made now if there is none; NOTHING after an error. Words of plain
 * accesses that overlap with others are cut: then the error is EXPLORE_START_AGAIN. */
int compiled_location(const char *place, unsigned size, const char *what, bool is_atomic);
unsigned compiled_part(const char *place, unsigned size); /* bytes of a plain access's next word */
void compiled_fill(unsigned char pattern);                /* the state, and some bytes behind it */
bool compiled_check_image(void); /* that init has written its state alone */
void compiled_put(char *place, unsigned size, uint64_t value); /* what a load is to find */
void compiled_put_bytes(char *place, const char *bytes, unsigned size);
void compiled_unput(char *place, unsigned size);          /* fills it again */
bool compiled_is_unput(const char *place, unsigned size); /* holds what it was filled with */
void compiled_assume(char *place, unsigned size);         /* a load finds the initial value */
void compiled_check_untouched(int which); /* the state holds what was filled, put and noted */
bool compiled_is_written(const char *place, unsigned size);
/* Somebody writes there: no load may be answered with the initial value, nor have been. */
void compiled_note_written(const char *place, unsigned size);

/* compiled_positions.c */
/* The number of the position that has this step and these stack bytes. */
explore_position compiled_number(actor *actor, const explore_step *step, const char *stack,
				 uint32_t used);
turn *compiled_turn(actor *actor, explore_position from, uint64_t value, bool failed);
void compiled_forget(actor *actor);

#endif
