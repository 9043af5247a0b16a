/* SPDX-License-Identifier: Apache-2.0
 * program.h - what the explorer explores: a few threads, each a machine that stops at every shared
 * operation, says what it wants to do, and goes on with the value that the operation gave.
 *
 *   start(thread)                     the first position of a thread
 *   at(thread, position)              the step that it wants to take there
 *   next(thread, position, value)     where it is after that step gave `value`
 *
 * Why it works  A thread between two shared operations is a function of its own stack and of the
 *               value it was given. So a position (a number that names the stack's bytes) and a
 *               value determine the next position: compiled code becomes a table, run once per new
 *               pair (compiled.c), and a small program given as data is the same table (data.c).
 *               Both engines walk that table and know nothing of C code, stacks or text.
 * Two engines   graphs.c: execution graphs, under SC, TSO and RC11. states.c: every interleaving,
 *               under SC and TSO with store buffers. They must agree: each judges the other.
 * Spec          none: this is the seam between code and engines. Evidence  tests/test_explore_*.py.
 */
#ifndef WP_EXPLORER_PROGRAM_H
#define WP_EXPLORER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXPLORE_THREADS = 16,    /* at the most */
	EXPLORE_LOCATIONS = 512, /* at the most; beyond is an error */
	EXPLORE_TEXT = 192,      /* bytes of an outcome, with its final 0 */
};

enum explore_kind {
	EXPLORE_LOAD = 1,
	EXPLORE_STORE,
	EXPLORE_EXCHANGE, /* read-modify-writes give the old value */
	EXPLORE_ADD,
	EXPLORE_OR,
	EXPLORE_AND,
	EXPLORE_CAS, /* gives the old value; took place if that is `expected` */
	EXPLORE_FENCE,
	EXPLORE_LIGHT_FENCE, /* the hot half of the asymmetric pair */
	EXPLORE_HEAVY_FENCE, /* the rare half; gives 1 */
	EXPLORE_WAIT,        /* futex: compare and queue in one step; gives an explore_woken */
	EXPLORE_WAKE,        /* futex: up to `operand` sleepers; gives how many */
	EXPLORE_PLAIN_LOAD,  /* no scheduling point: checked for races, not interleaved */
	EXPLORE_PLAIN_STORE, /* the same; `operand` is known when the step is announced */
	EXPLORE_LOCAL,       /* a scheduling point that touches no memory (wp_step) */
	EXPLORE_END,         /* the thread has finished */
	EXPLORE_ABANDON, /* an assumption does not hold: this execution does not count; `operand`
				not 0: a loop's bound */
	EXPLORE_FAIL,    /* an assertion does not hold: `text` says which */
	EXPLORE_CHOOSE,  /* gives any of 0 .. operand - 1; no memory */
};

enum explore_order { /* in the order of C11's enumeration, plain first */
		     EXPLORE_PLAIN,
		     EXPLORE_RELAXED,
		     EXPLORE_ACQUIRE,
		     EXPLORE_RELEASE,
		     EXPLORE_ACQ_REL,
		     EXPLORE_SEQ_CST,
};

/* What EXPLORE_WAIT gives. The last is not the engines': see compiled_steps.c. */
enum explore_woken { EXPLORE_WOKEN, EXPLORE_AGAIN, EXPLORE_TIMED_OUT, EXPLORE_INTERRUPTED };

/* The step that a thread wants to take. */
typedef struct explore_step {
	uint8_t kind;       /* enum explore_kind */
	uint8_t order;      /* enum explore_order; of a fence, the fence's */
	uint8_t fail_order; /* EXPLORE_CAS: of the read that fails */
	uint8_t size;       /* bytes: 1, 2, 4 or 8; values are cut to it */
	bool is_weak;       /* EXPLORE_CAS may fail although the value is as expected */
	bool is_volatile;   /* plain accesses: a scheduling point all the same */
	bool has_deadline;  /* EXPLORE_WAIT may time out, where timeouts are explored */
	int location;       /* 0 .. locations - 1; -1: none */
	uint32_t site;      /* index into the program's sites */
	uint64_t operand;   /* stored, exchanged, added, ...; desired value; sleepers to wake */
	uint64_t expected;  /* EXPLORE_CAS, EXPLORE_WAIT */
	const char *text;   /* EXPLORE_FAIL, else NULL */
	bool is_crash;      /* EXPLORE_FAIL: no assertion, but what ends a process */
} explore_step;

/* A line of the source. */
typedef struct explore_site {
	const char *file; /* as explored.py shows it: guard.h, stress/scenarios/wakeup/guard.c */
	int line;
	const char *what; /* the operation, as it stands there */
} explore_site;

/* An error that is none: what was learned changes the program; explore it from the start. */
#define EXPLORE_START_AGAIN "start again"

/* Names a thread's local state: equal positions behave equally for ever. */
typedef uint32_t explore_position;

typedef struct explore_program {
	const char *name;
	int threads;
	int locations;                       /* grows while compiled code discovers them */
	uint64_t initial[EXPLORE_LOCATIONS]; /* values before the first step */
	const char *location_names[EXPLORE_LOCATIONS];
	uint32_t location_offsets[EXPLORE_LOCATIONS]; /* compiled code: in the state, in bytes */
	size_t state_size;                            /* compiled code: bytes of the state */
	const void *const
		*code; /* compiled code: of each thread, where its actor begins; else NULL */
	const explore_site *sites;
	int sites_count;
	const explore_step
		*failed;   /* EXPLORE_FAIL of the arbiter, in the outcome written last; NULL:
				       none */
	bool is_bounded;   /* a thread was abandoned after so many turns of a waiting loop */
	const char *error; /* not NULL: the program cannot be explored, and why; the engine stops */

	explore_position (*start)(struct explore_program *, int thread);
	/* Valid until the next call of start or next. */
	const explore_step *(*at)(struct explore_program *, int thread, explore_position);
	/* `failed`: a weak compare-and-swap that failed although `value` is as expected. */
	explore_position (*next)(struct explore_program *, int thread, explore_position,
				 uint64_t value, bool failed);
	/* Writes the outcome of an execution in which every thread has ended: `values` per location
	 * (final), `ends` per thread. */
	void (*outcome)(struct explore_program *, const uint64_t *values,
			const explore_position *ends, char text[EXPLORE_TEXT]);
	/* Negative, 0, positive: orders a thread's ends by what they add to the outcome; NULL: no
	 * two add the same. */
	int (*compare_ends)(struct explore_program *, int thread, explore_position a,
			    explore_position b);
	/* Not NULL: may set `error` to EXPLORE_START_AGAIN, and then wants this, and a new run. */
	void (*restart)(struct explore_program *);
	void (*destroy)(struct explore_program *);
	void *own; /* the implementation's */
} explore_program;

/* A compare-and-swap reads and writes, until its value is known. */
static inline bool explore_is_update(int kind)
{
	return kind >= EXPLORE_EXCHANGE && kind <= EXPLORE_CAS;
}

static inline bool explore_writes(int kind)
{
	return kind == EXPLORE_STORE || kind == EXPLORE_PLAIN_STORE || explore_is_update(kind);
}

/* `value` cut to the step's size. */
static inline uint64_t explore_cut(const explore_step *step, uint64_t value)
{
	return step->size >= 8 ? value : value & ((UINT64_C(1) << 8 * step->size) - 1);
}

/* What an update writes over `old`; a compare-and-swap writes only if explore_takes_place. */
static inline uint64_t explore_updated(const explore_step *step, uint64_t old)
{
	switch (step->kind) {
	case EXPLORE_ADD:
		return explore_cut(step, old + step->operand);
	case EXPLORE_OR:
		return explore_cut(step, old | step->operand);
	case EXPLORE_AND:
		return explore_cut(step, old & step->operand);
	default:
		return explore_cut(step, step->operand);
	}
}

static inline bool explore_takes_place(const explore_step *step, uint64_t old)
{
	return step->kind != EXPLORE_CAS || old == step->expected;
}

/* data.c: a program from text (see there for the language). NULL: `error` says why, with the line.
 * The text may be freed afterwards. */
explore_program *explore_parse(const char *text, char error[256]);

#endif
