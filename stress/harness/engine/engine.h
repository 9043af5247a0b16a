/* SPDX-License-Identifier: Apache-2.0
 * engine.h - the native engine: a thread per actor runs a scenario on real cores, counts outcomes.
 *
 *   block.c   independent states by the thousand, a rendezvous per stride    (.blocking = 0)
 *   sleep.c   one state at a time, an actor may sleep                        (.blocking = 1)
 *   watch.c   proves that a sleeper is forgotten; stuck.c takes out who loops for ever
 *   crew.c    the threads: their CPUs, their rendezvous, their clock
 *   tally.c   outcome -> how often    delay.c  stretched windows
 *   main.c    the command line        registry.c  the scenario file    print.c, json.c  JSON
 *
 * Why it works  What one thread writes and another reads goes through a release store and an
 *               acquire load of `arrived` (or of a watch's atomics), which ThreadSanitizer follows.
 * Spec          none. Evidence  tests/judge/stress/test_stress.py. */
#ifndef WP_STRESS_ENGINE_H
#define WP_STRESS_ENGINE_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>

#include "stress.h"

enum {
	STRESS_CPUS = 64,   /* places in --cpus */
	STRESS_STRIDES = 8, /* strides of a sweep */
	STRESS_WIDE = 512,  /* different outcomes beyond the direct table */
	STRESS_PAGE = 4096,
	STRESS_BLOCK_BYTES = 1 << 18, /* of states: half a level-2 cache or less */
	STRESS_BLOCK_MOST = 4096,     /* states */
	STRESS_BLOCK_LEAST = 16,
	STRESS_BLOCKS = 4, /* at least, however short the time */
};

/* An outcome that the direct table has no place for. */
typedef struct stress_wide {
	int64_t r[STRESS_RESULTS];
	uint64_t count;
} stress_wide;

/* One thread's counts; merged after the threads have ended. */
struct stress_tally {
	uint64_t direct[STRESS_DIRECT];
	stress_wide wide[STRESS_WIDE]; /* open addressing; count 0 is free */
	int wide_used;
	uint64_t uncounted; /* samples whose outcome found no place */
};

/* What the watchdog knows of one actor's sleep. Writers: the actor; of `rescued` the watchdog. */
typedef struct stress_watch {
	wp_atomic(uint64_t) turn; /* odd: inside wp_futex_wait */
	wp_atomic(uintptr_t) word;
	wp_atomic(uint32_t) expected;
	wp_atomic(uint64_t) done; /* the round whose actor has returned */
	wp_atomic(uint32_t) rescued;
} stress_watch;

struct stress_run;

/* One thread. Lines of its own: the others spin on `arrived`. */
typedef struct stress_member {
	_Alignas(WP_LINE) wp_atomic(uint64_t) arrived; /* rendezvous so far. Writer: this thread. */
	_Alignas(WP_LINE) stress_watch watch;
	_Alignas(WP_LINE) struct stress_run *run;
	int index; /* of the actor */
	long tid;
	uint64_t meetings, random;
	int cpu;           /* pinned to, or -1 */
	uint64_t cpus_ran; /* bit per CPU on which it was seen */
	bool pin_failed;
	pthread_t thread;
	jmp_buf out_of_actor;
	volatile sig_atomic_t in_actor; /* 1: out_of_actor may be taken */
	stress_tally tally;
} stress_member;

typedef struct stress_options {
	const char *name;
	double seconds;
	uint64_t sample_min, seed;
	int cpus[STRESS_CPUS], cpus_count; /* 0: not pinned */
	size_t strides[STRESS_STRIDES];
	int strides_count; /* 0: the engine's own sweep */
} stress_options;

typedef struct stress_run {
	const stress_test *test;
	const stress_options *options;
	int actors;
	bool is_crowded; /* more actors than allowed CPUs */
	size_t block;    /* states that there is room for */
	char *states;
	uint16_t *seen[STRESS_ACTORS];
	int64_t *wide[STRESS_ACTORS];
	/* Written by member 0 between two rendezvous, read by all after the second. */
	bool stop;
	size_t used; /* states of the next block: as many as run in a few milliseconds */
	size_t stride;
	uint64_t rotation; /* names a permutation of the actors over the CPUs */
	int64_t start_ns, end_ns, rotate_ns, last_ns;
	uint64_t blocks;
	uint64_t samples;
	uint64_t asleep, asleep_changed; /* rounds or blocks with a sleeper that was rescued; of
					       these, the word had changed */
	/* Blocking scenarios. */
	wp_atomic(uint64_t) round;          /* now running. Writer: member 0. */
	wp_atomic(uint64_t) rescued_round;  /* Writer: the watchdog. */
	wp_atomic(uint32_t) rescued_change; /* 1: the word was not the expected value any more */
	uint64_t stuck;                     /* times an actor looped for ever */
	wp_atomic(uint32_t) is_abandoned;   /* 1: an actor was taken out of this block */
	wp_atomic(uint32_t) is_asleep; /* 1: for it slept, in a scenario that is not .blocking */
	wp_atomic(uint32_t) watch_stop;
	wp_atomic(uint32_t) watch_by_state; /* 1: /proc/.../syscall does not help here */
	stress_member members[STRESS_ACTORS];
} stress_run;

/* crew.c */
void stress_act(stress_member *member, const stress_span *span); /* may be cut short */
int stress_crew(stress_run *run, void (*body)(stress_member *)); /* 0, or 3: was printed */
void stress_meet(stress_member *member);
void stress_place(stress_member *member);            /* moves to the CPU that the rotation says */
void stress_skew(stress_member *member, unsigned n); /* spins fewer than n short steps */
uint64_t stress_random(uint64_t *state);             /* 0 is not a state */
void stress_plan(stress_run *run);                   /* member 0: stop, used, stride, rotation */
int stress_allowed_cpus(void);

/* block.c, sleep.c: the body of a member */
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

/* crash.c: what crashes says where. */
void stress_watch_crashes(void);

/* delay.c */
void stress_delays(uint64_t seed); /* this thread's delays from here on; 0: none */
extern _Thread_local stress_member *stress_self;

/* tally.c */
void stress_merge(stress_tally *into, const stress_tally *from);

/* print.c */
void stress_print_run(const stress_run *run);

#endif
