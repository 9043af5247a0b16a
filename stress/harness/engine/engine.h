/* SPDX-License-Identifier: Apache-2.0
 * engine.h - the native engine: one thread per actor runs a scenario on real cores, and outcomes
 * are counted.
 *
 *   block.c   thousands of independent states, a rendezvous per stride        (.blocking = 0)
 *   sleep.c   one state at a time; an actor may sleep                         (.blocking = 1)
 *   watch.c   proves that a sleeper is forgotten; stuck.c takes out an actor that loops for ever
 *   crew.c    the threads: their CPUs, their rendezvous, their clock
 *   tally.c   how often each outcome was seen      delay.c  stretched windows
 *   main.c    the command line        registry.c  the scenario file    print.c, json.c  JSON
 *
 * Why it works  Data that one thread writes and another reads is passed by a release store and an
 *               acquire load of `arrived`, or of the atomics of a watch. ThreadSanitizer follows
 *               these.
 * Spec          none.
 * Evidence      tests/judge/stress/test_stress.py. */
#ifndef WP_STRESS_ENGINE_H
#define WP_STRESS_ENGINE_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>

#include "stress.h"

enum {
	STRESS_CPUS = 64,   /* numbers in --cpus */
	STRESS_STRIDES = 8, /* strides of a sweep */
	STRESS_WIDE = 512,  /* different outcomes beyond the direct table */
	STRESS_PAGE = 4096,
	STRESS_BLOCK_BYTES = 1 << 18, /* of states: half of a level-2 cache or less */
	STRESS_BLOCK_MOST = 4096,     /* states */
	STRESS_BLOCK_LEAST = 16,
	STRESS_BLOCKS = 4, /* at least, however short the time */
};

/* An outcome that does not fit the direct table. */
typedef struct stress_wide {
	int64_t r[STRESS_RESULTS];
	uint64_t count;
} stress_wide;

/* The counts of one thread. They are merged after the threads have ended. */
struct stress_tally {
	uint64_t direct[STRESS_DIRECT];
	stress_wide wide[STRESS_WIDE]; /* open addressing; a free slot has count 0 */
	int wide_used;
	uint64_t uncounted; /* samples with outcomes that found no slot */
};

/* What the watchdog knows of one actor's sleep. Writers: the actor; of `rescued` the watchdog. */
typedef struct stress_watch {
	wp_atomic(uint64_t) turn; /* odd: inside wp_futex_wait */
	wp_atomic(uintptr_t) word;
	wp_atomic(uint32_t) expected;
	wp_atomic(uint64_t) done; /* the last round from which the actor has returned */
	wp_atomic(uint32_t) rescued;
} stress_watch;

struct stress_run;

/* One thread. It has its own cache lines, because the others spin on `arrived`. */
typedef struct stress_member {
	/* Number of rendezvous so far. Writer: this thread. */
	_Alignas(WP_LINE) wp_atomic(uint64_t) arrived;
	_Alignas(WP_LINE) stress_watch watch;
	_Alignas(WP_LINE) struct stress_run *run;
	int index; /* of the actor */
	long tid;
	uint64_t meetings, random;
	int cpu;           /* the CPU that it is pinned to, or -1 */
	uint64_t cpus_ran; /* one bit per CPU on which it was seen */
	bool pin_failed;
	pthread_t thread;
	jmp_buf out_of_actor;
	volatile sig_atomic_t in_actor; /* 1: out_of_actor may be used */
	stress_tally tally;
} stress_member;

typedef struct stress_options {
	const char *name;
	double seconds;
	uint64_t sample_min, seed;
	int cpus[STRESS_CPUS], cpus_count; /* 0: not pinned */
	size_t strides[STRESS_STRIDES];
	int strides_count; /* 0: the sweep of the engine */
} stress_options;

typedef struct stress_run {
	const stress_test *test;
	const stress_options *options;
	int actors;
	bool is_crowded; /* more actors than allowed CPUs */
	size_t block;    /* the number of states that fit */
	char *states;
	uint16_t *seen[STRESS_ACTORS];
	int64_t *wide[STRESS_ACTORS];
	/* Written by member 0 between two rendezvous, read by all members after the second. */
	bool stop;
	size_t used; /* states of the next block: as many as run in a few milliseconds */
	size_t stride;
	uint64_t rotation; /* names a permutation of the actors over the CPUs */
	int64_t start_ns, end_ns, rotate_ns, last_ns;
	uint64_t blocks;
	uint64_t samples;
	/* Rounds or blocks with a sleeper that was rescued; those of them in which the word had
	 * changed. */
	uint64_t asleep, asleep_changed;
	/* Blocking scenarios. */
	wp_atomic(uint64_t) round;          /* the round that runs now. Writer: member 0. */
	wp_atomic(uint64_t) rescued_round;  /* writer: the watchdog */
	wp_atomic(uint32_t) rescued_change; /* 1: the word no longer had the expected value */
	uint64_t stuck;                     /* times that an actor looped for ever */
	wp_atomic(uint32_t) is_abandoned;   /* 1: an actor was taken out of this block */
	/* 1: because it slept, in a scenario that is not .blocking. */
	wp_atomic(uint32_t) is_asleep;
	wp_atomic(uint32_t) watch_stop;
	wp_atomic(uint32_t) watch_by_state; /* 1: /proc/.../syscall is of no use here */
	stress_member members[STRESS_ACTORS];
} stress_run;

/* crew.c */
/* After a longjmp to out_of_actor; `why` is STRESS_ASLEEP or STRESS_STUCK. */
void stress_left(stress_member *member, int why);
/* 0, or 3 after an error message. */
int stress_crew(stress_run *run, void (*body)(stress_member *));
void stress_meet(stress_member *member);
/* Moves to the CPU that the rotation assigns. */
void stress_place(stress_member *member);
void stress_skew(stress_member *member, unsigned n); /* spins fewer than n short steps */
uint64_t stress_random(uint64_t *state);             /* 0 is not a valid state */
/* Member 0: sets stop, used, stride, rotation. */
void stress_plan(stress_run *run);
int stress_allowed_cpus(void);

/* block.c, sleep.c: the body of a member. */
void stress_block_body(stress_member *member);
void stress_sleep_body(stress_member *member);

/* stuck.c */
enum { STRESS_ASLEEP = 1, STRESS_STUCK }; /* why an actor was left by longjmp */
typedef struct stress_stuck {
	uint64_t progress;
	int64_t cpu_ns[STRESS_ACTORS];
} stress_stuck;
bool stress_stuck_prepare(void);
void stress_stuck_look(stress_run *run, stress_stuck *seen);

/* watch.c */
void *stress_watchdog(void *run);

/* crash.c: a crash prints its place first. */
void stress_watch_crashes(void);

/* delay.c */
void stress_delays(uint64_t seed); /* of this thread, from here on; 0: none */
extern _Thread_local stress_member *stress_self;

/* tally.c */
void stress_merge(stress_tally *into, const stress_tally *from);

/* print.c */
void stress_print_run(const stress_run *run);

#endif
