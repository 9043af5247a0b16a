/* SPDX-License-Identifier: Apache-2.0
 * program.h - what the explorer explores: a few threads. Each is a machine that stops before every
 * shared operation, announces that operation, and goes on with the value that the operation
 * returned.
 *
 *   start(thread)                     the first position of a thread
 *   at(thread, position)              the step that the thread wants to take there
 *   next(thread, position, value)     its position after that step returned `value`
 *
 * For example, the thread `r0 = load x; store y r0` has one position before the load. For each
 * value that the load returns it has one before the store, and one at the end.
 *
 * Why it works  Between two shared operations a thread is a function of its own stack and of the
 *               last value returned to it. A position is a number that names the bytes of the
 *               stack. A position and a value therefore determine the next position. So compiled
 *               code becomes a table, and each entry is computed once (compiled.c), and a small
 *               program given as data is the same kind of table (data.c). Both engines walk that
 *               table and know nothing of C code, stacks or text.
 * Two engines   graphs.c explores execution graphs, under SC, TSO and RC11. states.c explores every
 *               interleaving, under SC, and under TSO with store buffers. Their results must agree,
 *               so each engine judges the other.
 * Spec          none: this is the interface between code and engines.
 * Evidence      tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_PROGRAM_H
#define WP_EXPLORER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXPLORE_THREADS = 16,
	EXPLORE_LOCATIONS = 512, /* more than this is an error */
	EXPLORE_TEXT = 192,      /* bytes of an outcome, with the terminating 0 */
};

enum explore_kind {
	EXPLORE_LOAD = 1,
	EXPLORE_STORE,
	EXPLORE_EXCHANGE, /* a read-modify-write returns the old value */
	EXPLORE_ADD,
	EXPLORE_OR,
	EXPLORE_AND,
	EXPLORE_CAS, /* returns the old value; takes place if that is `expected` */
	EXPLORE_FENCE,
	EXPLORE_LIGHT_FENCE, /* the cheap side of the asymmetric pair */
	EXPLORE_HEAVY_FENCE, /* the expensive side; returns 1 */
	EXPLORE_WAIT,        /* futex: compare and enqueue in one step; returns an explore_woken */
	EXPLORE_WAKE,        /* futex: wakes up to `operand` sleepers; returns how many */
	EXPLORE_PLAIN_LOAD,  /* no scheduling point: checked for races, not interleaved */
	/* As EXPLORE_PLAIN_LOAD. `operand` is known when the step is announced. */
	EXPLORE_PLAIN_STORE,
	EXPLORE_LOCAL, /* a scheduling point that touches no memory (wp_step) */
	EXPLORE_END,   /* the thread has finished */
	/* An assumption does not hold, so this execution does not count. `operand` not 0: the bound
	 * of a loop was reached. */
	EXPLORE_ABANDON,
	EXPLORE_FAIL,   /* an assertion does not hold; `text` names it */
	EXPLORE_CHOOSE, /* returns any of 0 .. operand - 1; touches no memory */
	EXPLORE_CREATE, /* the thread `operand` may begin */
	EXPLORE_BEGIN,  /* the first step of a thread that another thread creates */
	EXPLORE_JOIN,   /* waits until the thread `operand` has ended */
};

enum explore_order { /* as in C11's enumeration, with plain first */
		     EXPLORE_PLAIN,
		     EXPLORE_RELAXED,
		     EXPLORE_ACQUIRE,
		     EXPLORE_RELEASE,
		     EXPLORE_ACQ_REL,
		     EXPLORE_SEQ_CST,
};

/* What EXPLORE_WAIT returns. Only compiled code returns EXPLORE_INTERRUPTED: see
 * compiled_steps.c. */
enum explore_woken { EXPLORE_WOKEN, EXPLORE_AGAIN, EXPLORE_TIMED_OUT, EXPLORE_INTERRUPTED };

/* The step that a thread wants to take. */
typedef struct explore_step {
	uint8_t kind;       /* enum explore_kind */
	uint8_t order;      /* enum explore_order; of a fence, the order of the fence */
	uint8_t fail_order; /* EXPLORE_CAS: the order of a read that fails */
	uint8_t size;       /* bytes: 1, 2, 4 or 8; values are cut to this size */
	bool is_weak;       /* EXPLORE_CAS may fail although the value is the expected one */
	bool is_volatile;   /* a plain access that is a scheduling point all the same */
	bool has_deadline;  /* EXPLORE_WAIT may time out, if timeouts are explored */
	/* EXPLORE_CAS: takes a lock. The thread waits until the value is the expected one, and never
	 * goes on with another. Graphs only. */
	bool is_lock;
	int location;  /* 0 .. locations - 1; -1: none */
	uint32_t site; /* index into the program's sites */
	/* The value that is stored, exchanged, added or desired, or the number of sleepers to
	 * wake. */
	uint64_t operand;
	uint64_t expected; /* EXPLORE_CAS, EXPLORE_WAIT */
	const char *text;  /* EXPLORE_FAIL; else NULL */
	bool is_crash;     /* EXPLORE_FAIL: the process would die; no assertion failed */
	bool is_race;      /* EXPLORE_FAIL: the program itself has found a race */
} explore_step;

/* A line of the source. */
typedef struct explore_site {
	const char *file; /* as a report prints it: guard.h, stress/scenarios/wakeup/guard.c */
	int line;
	const char *what; /* the operation, as the source spells it */
} explore_site;

/* The value of `error` when an execution has revealed something that changes the program: it is
 * explored again from the start, and no error is reported. */
#define EXPLORE_START_AGAIN "start again"

/* Names the local state of a thread. Equal positions behave equally for ever. */
typedef uint32_t explore_position;
#define EXPLORE_UNKNOWN UINT32_MAX /* the position is about to be asked for */

typedef struct explore_program {
	const char *name;
	int threads;
	int locations;                       /* grows while compiled code discovers them */
	uint64_t initial[EXPLORE_LOCATIONS]; /* values before the first step */
	const char *location_names[EXPLORE_LOCATIONS];
	/* compiled code: offset in the state, in bytes */
	uint32_t location_offsets[EXPLORE_LOCATIONS];
	size_t state_size; /* compiled code: bytes of the state */
	const void *const
		*code; /* compiled code: where the actor of each thread begins; else NULL */
	const explore_site *sites;
	int sites_count;
	const explore_step
		*failed; /* EXPLORE_FAIL of the arbiter in the latest outcome; NULL: none */
	bool is_bounded; /* a thread was abandoned after the allowed turns of a waiting loop */
	/* Thread 0 creates the others: each begins with EXPLORE_BEGIN, and the execution is over
	 * when thread 0 has ended. */
	bool creates_threads;
	/* Graphs: the graph after which `start`, `next` or `outcome` is called. */
	const struct explore_graph *graph;
	/* Not NULL: the reason why the program cannot be explored. The engine stops. */
	const char *error;

	explore_position (*start)(struct explore_program *, int thread);
	/* The result is valid until the next call of start or next. */
	const explore_step *(*at)(struct explore_program *, int thread, explore_position);
	/* `failed`: a weak compare-and-swap failed although `value` is the expected one. */
	explore_position (*next)(struct explore_program *, int thread, explore_position,
				 uint64_t value, bool failed);
	/* Writes the outcome of an execution in which every thread has ended: `values` are the
	 * final values of locations, `ends` the last positions of threads. */
	void (*outcome)(struct explore_program *, const uint64_t *values,
			const explore_position *ends, char text[EXPLORE_TEXT]);
	/* Orders the ends of a thread by what they add to the outcome: negative, 0 or positive.
	 * NULL: no two ends add the same. */
	int (*compare_ends)(struct explore_program *, int thread, explore_position a,
			    explore_position b);
	/* Not NULL: the program may set `error` to EXPLORE_START_AGAIN; the engine then calls this
	 * and explores again. */
	void (*restart)(struct explore_program *);
	void (*destroy)(struct explore_program *);
	void *own; /* data of the implementation */
} explore_program;

/* A compare-and-swap counts as a read and a write until its value is known. */
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

/* The value that an update writes over `old`. A compare-and-swap writes only if
 * explore_takes_place. */
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

/* data.c: parses a program from text; the language is described there. NULL: `error` holds the
 * reason and the line. The text may be freed afterwards. */
explore_program *explore_parse(const char *text, char error[256]);

#endif
