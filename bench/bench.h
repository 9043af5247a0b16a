/* SPDX-License-Identifier: Apache-2.0
 * bench.h - a row measures one piece of work in several ways ("sides") in turn, so that all are
 * exposed to the same noise.
 *
 *   main.c      calibrates each side, then ours, peer, ours, peer, ...; prints samples as JSON
 *   one.c       run queue by one thread      flow.c, flow_*.c   producers to one consumer
 *   submit.c    guarded submission           parker.c           ping-pong
 *   layout.c    which words share a line     bare.c             store buffering, no engine
 *   group.c     carriers and their tasks     pingpong.c         between two carriers
 *   balance.c   what stealing gains          recheck.c, sim_*   carriers as data
 *   memory.c    a million parked tasks       peers.c, peers/    other schedulers
 *   fiber.c     a stack switch               stack.c            the slab of stacks
 *   vthread.c   virtual threads              dump.c             the state of all of them
 *   sync.c      channel and mutex            scale.c            one to a million of them
 *   timer.c     deadlines                    poller.c           descriptors
 *   placement.c choices among carriers   placed.c, sim_placement.c   what they gain
 *   strategy.c  which thread runs a task     local.c            the bounded run queue
 *   local_group.c   the same in groups       shapes.c           loads of whole programs
 *
 * Why it works  The ratio of two sides that were measured within milliseconds of one another is
 *               stable on a noisy machine; their nanoseconds are not. Goals, medians and verdicts
 *               are in python/wakeproof/bench/.
 * Spec          none.
 * Evidence      tests/bench/test_bench.py (form, never time). */
#ifndef WP_BENCH_H
#define WP_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

enum { BENCH_SIDES = 12, BENCH_OWN = 2, BENCH_COUNTS = 4, BENCH_ROUNDS = 99, BENCH_CPUS = 8 };

/* Does `ops` operations and returns the nanoseconds that they took. */
typedef double bench_side_run(uint64_t ops);

/* A side that is one call. `ops` is among its arguments. */
#define BENCH_SIDE(name_, call_)          \
	static double name_(uint64_t ops) \
	{                                 \
		return call_;             \
	}

typedef struct bench_side {
	const char *name;
	bench_side_run *run; /* NULL: the side is a goal, of that many nanoseconds an operation */
	double goal_ns;
} bench_side;

/* The same under a placement policy. Its load is what is queued (at_dequeue), or that and what
 * runs. */
typedef double bench_policy_run(int policy, bool at_dequeue, uint64_t ops);

typedef struct bench_row {
	const char *name;
	bench_side sides[BENCH_SIDES]; /* ends at a NULL name, unless all are in use */
	/* NULL, or the row has a side for each policy of the kernel, named after it. With
	 * both_loads, each policy but home has another side, NAME_dequeue. */
	bench_policy_run *of_policy;
	bool both_loads;
	struct {
		const char *name; /* or NULL */
		int policy;       /* below 0: one of the row's own, for of_policy */
	} own[BENCH_OWN];
	struct {
		const char *name; /* or NULL */
		const double *of; /* per operation, of the latest run */
	} counts[BENCH_COUNTS];
} bench_row;

extern const bench_row bench_one[], bench_flow[], bench_submit[], bench_parker[], bench_layout[],
	bench_bare[], bench_group[], bench_pingpong[], bench_balance[], bench_recheck[],
	bench_memory[], bench_peers[], bench_fiber[], bench_stack[], bench_timer[], bench_vthread[],
	bench_sync[], bench_scale[], bench_dump[], bench_poller[], bench_placement[],
	bench_placed[], bench_sim_placement[], bench_strategy[], bench_local[], bench_local_group[],
	bench_shapes[]; /* each ends at a NULL name */

/* The round that is being measured; 0 while calibrating. */
extern int bench_round;

/* CPU time of this thread, for work by one thread that other processes may interrupt. */
double bench_cpu_ns(void);
double bench_clock_ns(void); /* CLOCK_MONOTONIC */

/* Pins the calling thread, if that is allowed: index 0 to the first CPU, the others to the CPUs
 * after it. */
void bench_pin(int index);

/* Lets the calling thread run on any of the CPUs again. */
void bench_float(void);

/* How often another process has taken this thread's CPU so far; and a note that this happened in
 * the current run. For threads that bench_together does not know. */
long bench_preemptions(void);
void bench_disturb(long times);

/* Runs body(context, 0) here and body(context, k) in one thread each, for 0 < k < threads, all
 * started together. Thread 0 has the first CPU to itself if there are two. Returns the nanoseconds
 * from the start until body 0 returns. */
double bench_together(int threads, void (*body)(void *context, int index), void *context);

/* One turn of a spin: pauses at first, and later gives the CPU away. */
static inline void bench_spin(unsigned *spins)
{
	enum { PAUSES = 256, YIELD_EACH = 16 };

	wp_pause();
	if (++*spins > PAUSES && *spins % YIELD_EACH == 0) {
		void bench_yield(void);
		bench_yield();
	}
}

_Noreturn void bench_fail(const char *what);

/* Sorts the values and returns the 99th percentile. */
double bench_p99(double *values, size_t many);

/* The next number of a sequence of xorshift64. *random: not 0. */
static inline uint64_t bench_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Multiplications, each of which needs the result of the last one: about 1.2 ns each. */
void bench_work(uint32_t many);

/* A compiler barrier: keeps measured code in its place and memory in memory, because operations of
 * a run queue are separate events. */
#define bench_apart() __asm__ __volatile__("" ::: "memory")

#define BENCH_INLINE static inline __attribute__((always_inline))

#endif
