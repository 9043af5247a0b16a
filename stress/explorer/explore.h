/* SPDX-License-Identifier: Apache-2.0
 * explore.h - the options, the report and the entry points of the two exploration engines.
 *
 *   graphs.c   explore_graphs   SC, TSO, RC11: each execution graph once (TruSt)
 *   states.c   explore_states   SC, TSO: each state once, with cycles (explicit-state search)
 *   report.c   outcomes, verdicts, counterexamples
 *   main.c     the command line; it prints JSON, one object per program */
#ifndef WP_EXPLORER_EXPLORE_H
#define WP_EXPLORER_EXPLORE_H

#include "program.h"

enum { /* upper limits */
       EXPLORE_JOBS = 64,
       EXPLORE_PARTS = 4096,
       EXPLORE_PCT_DEPTH = 17,
};

enum explore_model { EXPLORE_SC, EXPLORE_TSO, EXPLORE_RC11 };

typedef struct explore_options {
	enum explore_model model;
	/* RC11: a later store by the same thread continues a release sequence, as in C11. Default:
	 * off, as in C++20. */
	bool c11_release_sequence;
	/* RC11: as in the paper, program order is in scb only between nodes at different
	 * locations. */
	bool paper_scb;
	/* Wait and wake are full fences, as in Linux. Default: they order only the look at the
	 * queue. The lock of the queue empties an x86 store buffer. */
	bool linux_futex;
	bool timeouts; /* a wait with a deadline may time out */
	int spurious;  /* most spurious wakeups per wait */
	/* Compiled code: the most heavy fences of one thread that may fail. */
	int failing_heavy;
	bool any_spurious; /* states: spurious wakeups have no bound and are not counted */
	/* States: positions of compiled code that behave equally are kept apart, not merged. */
	bool keeps_positions;
	bool loses_outcomes; /* states: all ends of a thread count as one */
	bool ignores_races;  /* states: no race is looked for; another run judges races */
	int loop_bound;      /* graphs: most passes through an effectful loop; 0: no bound */
	int preemptions;     /* states: most preemptions; -1: no bound */
	/* States: the bound on preemptions is 0, then 1, and so on, until it forbids nothing. */
	bool grows;
	int jobs; /* processes (graphs) or threads (states) that share the search; 0 means 1 */
	/* Graphs: if `parts` is not 0, explore only part number `part` of so many, from 0 on. */
	int parts, part;
	/* States: the schedule of the one execution to show. NULL: explore all. */
	const char *replay;
	const char *minimal; /* graphs: the outcome for which the smallest example is wanted */
	/* Graphs: if not 0, explore nothing, and estimate the size by this many descents. */
	uint64_t descents;
	uint64_t max_executions; /* most executions or states; 0: no bound */
	uint64_t max_bytes;      /* 0: no bound */
	double max_seconds;      /* 0: no bound */
	uint64_t sample;         /* if not 0: this many random executions, in place of all */
	int pct_depth;           /* if not 0: samples are drawn by PCT with this depth d */
	uint64_t seed;
	/* Graphs: keep a hash of each execution, and count an execution that is met twice as an
	 * error. */
	bool check_duplicates;
} explore_options;

/* How an execution, or a set of states, ended. */
enum explore_verdict {
	EXPLORE_ENDED, /* every thread has ended: the scenario grades the outcome */
	/* A thread sleeps on a futex and no wake is left; the word still holds the value it
	 * expects. */
	EXPLORE_ASLEEP,
	/* The same, but the word holds another value than the sleeper expects: a lost wakeup. */
	EXPLORE_LOST_WAKEUP,
	EXPLORE_STUCK, /* a thread loops for ever under weak fairness */
	/* Two accesses conflict, one of them is plain, and happens-before orders neither before the
	 * other. */
	EXPLORE_RACE,
	EXPLORE_ASSERTION, /* a step EXPLORE_FAIL */
	EXPLORE_CRASH,     /* a step EXPLORE_FAIL with is_crash */
	EXPLORE_VERDICTS,
};

static inline enum explore_verdict explore_failure(const explore_step *step)
{
	return step->is_race ? EXPLORE_RACE : step->is_crash ? EXPLORE_CRASH : EXPLORE_ASSERTION;
}

static inline bool explore_is_failure(enum explore_verdict verdict)
{
	return verdict == EXPLORE_ASSERTION || verdict == EXPLORE_CRASH;
}

/* One step of a counterexample. The steps stand in an order that a reader can follow. */
typedef struct explore_event {
	int thread;
	explore_step step;
	uint64_t value; /* the value that was read, or that the operation returned */
	bool has_written;
	uint64_t written;
	/* The index of an earlier or later event. -1: the initial value; -2: the step reads
	 * nothing. */
	int read_from;
	bool is_drain;  /* TSO: a buffered store reaches memory */
	bool is_racing; /* EXPLORE_RACE: one of the two unordered accesses */
} explore_event;

typedef struct explore_example {
	enum explore_verdict verdict;
	char outcome[EXPLORE_TEXT];
	explore_event *events;
	int events_count;
	/* EXPLORE_STUCK, states: the event with which the cycle begins. -1: there is no cycle. */
	int cycle_from;
	unsigned spinning; /* EXPLORE_STUCK, graphs: one bit per looping thread */
	char *schedule;    /* states: as in state_replay.c; NULL: none */
	/* Takes the place of `events`: the example as another process has printed it. */
	char *json;
	/* Graphs: the cost, by which the cheapest of several examples is kept; the item in which it
	 * was met. */
	uint64_t cost, item;
} explore_example;

typedef struct explore_outcome {
	/* The text that the program wrote, or the name of the bad end: "asleep", "stuck", "race",
	 * "assertion", "crash". */
	char text[EXPLORE_TEXT];
	enum explore_verdict verdict;
	uint64_t count; /* graphs: executions; states: final states */
	/* Shared search: where this outcome was first met. Outcomes are sorted by it. */
	uint64_t first;
	explore_example example; /* the shortest that was met */
} explore_outcome;

/* An estimate, and a band in which the number probably lies. All 0: unknown. */
typedef struct explore_size {
	double about, low, high;
} explore_size;

typedef struct explore_report {
	const char *engine;
	explore_outcome *outcomes;
	int outcomes_count;
	uint64_t executions; /* graphs: complete and consistent executions, each once */
	/* Graphs that were given up: a thread waits for a value that another execution gives it, or
	 * a step was EXPLORE_ABANDON. */
	uint64_t blocked;
	uint64_t bounded;              /* graphs that loop_bound has cut */
	uint64_t duplicates;           /* graphs, check_duplicates: must be 0 */
	uint64_t states, edges, depth; /* states: an edge is a triple (state, thread, choice) */
	bool is_exhaustive;            /* no bound, limit or sampling has cut anything */
	/* Of executions or states, if a limit has stopped the search, or with `descents`. */
	explore_size size;
	/* States: the largest bound on preemptions that was explored whole. -1: none. */
	int preemptions;
	/* States, PCT: the probability with which this many walks find a bug of that depth. 0: none
	 * is known. */
	double pct_bound;
	uint64_t pct_samples;
	/* Why the search is not exhaustive: "estimate", "max_executions", "max_bytes",
	 * "max_seconds", "sample", "loop_bound", "preemptions", or "buffers" (TSO: a store buffer
	 * was full). NULL: it is. */
	const char *stopped;
	char error[256]; /* if not "": there is no verdict at all */
	double seconds;
	double cpu_seconds; /* graphs: CPU time; for several processes, the longest of theirs */
	uint64_t bytes;     /* peak of memory */
} explore_report;

/* Zeroes the report and fills it. The caller frees it with explore_report_free. */
void explore_graphs(explore_program *program, const explore_options *options,
		    explore_report *report);
void explore_states(explore_program *program, const explore_options *options,
		    explore_report *report);

/* report.c. explore_count adds one execution to the outcome with this text and verdict.
 * explore_wants_example returns true if the outcome has no example yet, or one longer than
 * `events_count`; the caller then fills in `example`. */
explore_outcome *explore_count(explore_report *report, const char *text,
			       enum explore_verdict verdict);
bool explore_wants_example(const explore_outcome *outcome, int events_count);
void explore_report_free(explore_report *report);
void explore_print(const explore_program *program, const explore_options *options,
		   const explore_report *report); /* one line of JSON to standard output */

#endif
