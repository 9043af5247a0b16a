/* SPDX-License-Identifier: Apache-2.0
 * bench.h - a row measures one piece of work several ways ("sides") in turn, so that all see the
 * same noise.
 *
 *   main.c      calibrates each side, then ours, peer, ours, peer, ...; prints samples as JSON
 *   one.c       run queue by one thread      flow.c, flow_*.c   producers to one consumer
 *   submit.c    guarded submission           parker.c           ping-pong
 *   layout.c    which words share a line     bare.c             store buffering, no engine
 *   group.c     carriers and their tasks     pingpong.c         between two carriers
 *   balance.c   what stealing brings         recheck.c, sim_*   carriers as data
 *   memory.c    a million parked tasks       peers.c, peers/    other schedulers
 *   fiber.c     a stack switch               stack.c            the slab of stacks
 *   vthread.c   virtual threads              dump.c             what they all do
 *   sync.c      channel and mutex            scale.c            one to a million of them
 *   timer.c     deadlines                poller.c           descriptors
 *   placement.c choices among carriers   placed.c, sim_placement.c   what they bring
 *   strategy.c  who runs what is produced   local.c     the bounded run queue
 *   local_group.c   the same in groups
 *
 * Why it works  A ratio of two sides measured within milliseconds of one another survives a noisy
 * machine; their nanoseconds do not. Goals, medians and verdicts are in python/wakeproof/bench/.
 * Spec          none. Evidence  tests/bench/test_bench.py (form, never time). */
#ifndef WP_BENCH_H
#define WP_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

enum { BENCH_SIDES = 12, BENCH_OWN = 2, BENCH_COUNTS = 4, BENCH_ROUNDS = 99, BENCH_CPUS = 8 };

/* Does `ops` operations and says how many nanoseconds they took. */
typedef double bench_side_run(uint64_t ops);

/* A side that is one call; `ops` is among its arguments. */
#define BENCH_SIDE(name_, call_)          \
	static double name_(uint64_t ops) \
	{                                 \
		return call_;             \
	}

typedef struct bench_side {
	const char *name;
	bench_side_run *run; /* or NULL: the side is a goal, of so many nanoseconds an operation */
	double goal_ns;
} bench_side;

/* The same by a placement policy, whose load is what is queued (at_dequeue), or what runs as well. */
typedef double bench_policy_run(int policy, bool at_dequeue, uint64_t ops);

typedef struct bench_row {
	const char *name;
	bench_side sides[BENCH_SIDES]; /* ends at a NULL name, unless all are in use */
	/* Or NULL. The row has a side for each policy of the kernel, by its name; with both_loads, for
	 * each but home another one, NAME_dequeue. */
	bench_policy_run *of_policy;
	bool both_loads;
	struct {
		const char *name; /* or NULL */
		int policy;       /* below 0: one of the row's own, for of_policy */
	} own[BENCH_OWN];
	struct {
		const char *name; /* or NULL */
		const double *of; /* per operation, of the run just made */
	} counts[BENCH_COUNTS];
} bench_row;

extern const bench_row bench_one[], bench_flow[], bench_submit[], bench_parker[], bench_layout[],
	bench_bare[], bench_group[], bench_pingpong[], bench_balance[], bench_recheck[],
	bench_memory[], bench_peers[], bench_fiber[], bench_stack[], bench_timer[], bench_vthread[],
	bench_sync[], bench_scale[], bench_dump[], bench_poller[], bench_placement[],
	bench_placed[], bench_sim_placement[], bench_strategy[], bench_local[],
	bench_local_group[]; /* each ends at a NULL name */

/* The round that is being measured; 0 while calibrating. */
extern int bench_round;

/* CPU time of this thread: work by one thread, which others may interrupt. */
double bench_cpu_ns(void);
double bench_clock_ns(void); /* CLOCK_MONOTONIC */

/* The calling thread, where that is allowed: 0 on the first CPU, the others on those after it. */
void bench_pin(int index);

/* The calling thread may run on any of the CPUs again. */
void bench_float(void);

/* How often somebody else took this thread's CPU, so far; and: it happened in the run that is being
 * made. For threads that bench_together does not know. */
long bench_preemptions(void);
void bench_disturb(long times);

/* Runs body(context, 0) here and body(context, k) in a thread each, k < threads, started together.
 * 0 has the first CPU to itself where there are two. Nanoseconds from the start until body 0
 * returns. */
double bench_together(int threads, void (*body)(void *context, int index), void *context);

/* One step of a spin: pauses at first, then gives the CPU away. */
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

/* Sorts the values; returns the 99th percentile. */
double bench_p99(double *values, size_t many);

/* The next of a sequence of xorshift64; *random: not 0. */
static inline uint64_t bench_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* Multiplications, each of which waits for the last one: about 1.2 ns. */
void bench_work(uint32_t many);

/* What was measured is not moved across, and what is in memory stays in memory: operations of a run
 * queue are separate events. */
#define bench_apart() __asm__ __volatile__("" ::: "memory")

#define BENCH_INLINE static inline __attribute__((always_inline))

#endif
