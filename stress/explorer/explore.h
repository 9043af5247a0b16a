/* SPDX-License-Identifier: Apache-2.0
 * explore.h - what the two engines take and give.
 *
 *   graphs.c   explore_graphs   SC, TSO, RC11: each execution graph once
 *   states.c   explore_states   SC, TSO: each state once, with cycles
 *   report.c   outcomes, verdicts, counterexamples
 *   main.c     the command line; JSON, one object per program */
#ifndef WP_EXPLORER_EXPLORE_H
#define WP_EXPLORER_EXPLORE_H

#include "program.h"

enum { /* at the most */
       EXPLORE_JOBS = 64,
       EXPLORE_PCT_DEPTH = 17,
};

enum explore_model { EXPLORE_SC, EXPLORE_TSO, EXPLORE_RC11 };

typedef struct explore_options {
	enum explore_model model;
	bool c11_release_sequence; /* RC11: a later store by the same thread continues it; default
				      off: C++20 */
	bool paper_scb;            /* RC11: scb has po to other locations only, as in the paper */
	bool linux_futex;     /* wait and wake are full fences; default: they order nothing but the
				      look at the queue, whose lock empties an x86 buffer */
	bool timeouts;        /* a wait with a deadline may time out */
	int spurious;         /* spurious wakeups per wait, at the most */
	int failing_heavy;    /* compiled code: heavy fences of a thread that fail, at the
				      most */
	bool any_spurious;    /* states: without a bound, and not counted */
	bool keeps_positions; /* states: compiled code's that behave equally are not made one */
	bool loses_outcomes;  /* states: all ends of a thread are one */
	bool ignores_races;   /* states: another run judges them */
	int loop_bound;       /* graphs: passes through an effectful loop; 0: no bound */
	int preemptions;      /* states: at the most; -1: no bound */
	bool grows;           /* states: it is 0, then 1, ..., until it forbids nothing */
	int jobs;             /* graphs: processes that share the search; 0: as 1 */
	const char *replay;   /* states: the schedule of the one execution to show; NULL: all */
	const char *minimal;  /* graphs: the outcome whose example is to be the smallest */
	uint64_t descents;    /* graphs: not 0: estimate the size by so many, do not explore */
	uint64_t max_executions; /* 0: no bound; of states: states */
	uint64_t max_bytes;      /* 0: no bound */
	double max_seconds;      /* 0: no bound */
	uint64_t sample;         /* not 0: so many random executions instead of all */
	int pct_depth;           /* not 0: sampled by PCT with this d */
	uint64_t seed;
	bool check_duplicates; /* graphs: keep a hash of each execution, fail on a second one */
} explore_options;

/* How an execution, or a set of states, ended badly. */
enum explore_verdict {
	EXPLORE_ENDED,       /* all threads have: the outcome is graded by the scenario */
	EXPLORE_ASLEEP,      /* somebody sleeps in a futex, nobody will wake him, his word is as he
			      expects */
	EXPLORE_LOST_WAKEUP, /* the same, and his word is not what he expects: a lost wakeup */
	EXPLORE_STUCK,       /* somebody loops for ever, however fair the scheduling */
	EXPLORE_RACE,        /* conflicting accesses, one of them plain, not ordered */
	EXPLORE_ASSERTION,   /* EXPLORE_FAIL */
	EXPLORE_CRASH,       /* EXPLORE_FAIL, is_crash */
	EXPLORE_VERDICTS,
};

static inline enum explore_verdict explore_failure(const explore_step *step)
{
	return step->is_crash ? EXPLORE_CRASH : EXPLORE_ASSERTION;
}

static inline bool explore_is_failure(enum explore_verdict verdict)
{
	return verdict == EXPLORE_ASSERTION || verdict == EXPLORE_CRASH;
}

/* One step of a counterexample, in an order that explains it. */
typedef struct explore_event {
	int thread;
	explore_step step;
	uint64_t value; /* read or given */
	bool has_written;
	uint64_t written;
	int read_from;  /* index of an earlier or later event, -1: the initial value, -2: no read */
	bool is_drain;  /* TSO: a buffered store reaches memory */
	bool is_racing; /* EXPLORE_RACE: one of the accesses that nothing orders */
} explore_event;

typedef struct explore_example {
	enum explore_verdict verdict;
	char outcome[EXPLORE_TEXT];
	explore_event *events;
	int events_count;
	int cycle_from;      /* EXPLORE_STUCK, states: the event from which on it goes round;
				 -1: there is none */
	unsigned spinning;   /* EXPLORE_STUCK, graphs: a bit per thread that loops */
	char *schedule;      /* states: see state_replay.c; NULL: none */
	char *json;          /* instead of events: as another process has printed them */
	uint64_t cost, item; /* graphs: of several, the cheapest; where it was met */
} explore_example;

typedef struct explore_outcome {
	char text[EXPLORE_TEXT]; /* of the program, or "asleep", "stuck", "race", "assertion" */
	enum explore_verdict verdict;
	uint64_t count;          /* executions; states engine: final states */
	uint64_t first;          /* of a shared search: outcomes were first met in this order */
	explore_example example; /* the shortest met */
} explore_outcome;

/* An estimate, and a band in which the number probably lies. All 0: unknown. */
typedef struct explore_size {
	double about, low, high;
} explore_size;

typedef struct explore_report {
	const char *engine; /* "graphs" or "states" */
	explore_outcome *outcomes;
	int outcomes_count;
	uint64_t executions; /* graphs: complete, consistent, each once */
	uint64_t blocked;    /* graphs: given up because somebody waits for a value that another
				 execution gives him, or because of EXPLORE_ABANDON */
	uint64_t bounded;    /* graphs: cut by loop_bound */
	uint64_t duplicates; /* graphs, check_duplicates: must be 0 */
	uint64_t states, edges, depth; /* states engine: edges counts (state, thread, choice) */
	bool is_exhaustive;            /* nothing was cut by a bound, a limit or sampling */
	explore_size size; /* of executions or states, if it was stopped by a limit, or by
				 `descents` */
	int preemptions;   /* states: the largest bound that was explored whole; -1: none */
	double pct_bound;  /* states, PCT: each of so many walks finds a bug of that depth so
				 probably; 0: none is known */
	uint64_t pct_samples;
	const char *stopped; /* why not: "estimate", "max_executions", "max_bytes",
				 "max_seconds", "sample",
				 "loop_bound", "preemptions", "buffers" (TSO: one was
				 full); else NULL */
	char error[256];     /* not "": no verdict at all */
	double seconds;
	double cpu_seconds; /* graphs: of the processor; of several processes, the longest's */
	uint64_t bytes;     /* of memory at the most */
} explore_report;

/* Zeroes the report and fills it. Call explore_report_free afterwards. */
void explore_graphs(explore_program *program, const explore_options *options,
		    explore_report *report);
void explore_states(explore_program *program, const explore_options *options,
		    explore_report *report);

/* report.c. Adds one execution with that outcome; true: the caller should fill in `example` (there
 * is none yet, or it is longer than `events_count`). */
explore_outcome *explore_count(explore_report *report, const char *text,
			       enum explore_verdict verdict);
bool explore_wants_example(const explore_outcome *outcome, int events_count);
void explore_report_free(explore_report *report);
void explore_print(const explore_program *program, const explore_options *options,
		   const explore_report *report); /* one line of JSON to standard output */

#endif
