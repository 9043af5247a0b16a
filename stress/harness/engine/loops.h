/* SPDX-License-Identifier: Apache-2.0
 * loops.h - the loops of one scenario, compiled with it, so that actors, arbiter and init are
 * inlined.
 *
 *   each actor's thread                 all threads, each for a part of the block
 *   act: actor k over one stride        settle: merge, arbiter, count, fini, zero, init
 *
 * Why it works  STRESS_TEST makes the test a constant, so test->actors[k] is a direct call once
 *               these functions are inlined. Each actor writes its own results, and settle adds
 *               them up afterwards. Actors share the state of the scenario and nothing else.
 * Spec          none.
 * Evidence      bench/store_buffering.c, tests/judge/stress/test_stress.py. */
#ifndef WP_STRESS_LOOPS_H
#define WP_STRESS_LOOPS_H

#include <string.h>

/* The direct table has slots for the most common outcomes: up to 4 numbers below 8. */
enum {
	STRESS_DIRECT_BITS = 3,
	STRESS_DIRECT_MASK = 7,
	STRESS_DIRECT_RESULTS = 4,
	STRESS_DIRECT = 1 << 12,
	STRESS_UNPACKED = STRESS_DIRECT, /* no slot: a number does not fit */
};

typedef struct stress_tally stress_tally;

/* Counts an outcome that does not fit the direct table. Only its own thread writes a tally. */
void stress_count_wide(stress_tally *tally, const stress_result *result, int results);

/* States [first, end) of a block. One thread owns it while a loop runs. */
typedef struct stress_span {
	char *states;                  /* of the block */
	uint16_t *seen[STRESS_ACTORS]; /* per actor and state: its results, packed like a slot */
	int64_t *wide[STRESS_ACTORS];  /* `results` numbers per state, if they cannot be packed */
	size_t first, end;
	uint64_t *direct; /* STRESS_DIRECT counters */
	stress_tally *tally;
} stress_span;

struct stress_loops {
	void (*act[STRESS_ACTORS])(const stress_span *span);
	void (*settle)(const stress_span *span);
	int delayed; /* compiled with -DWP_STRESS_DELAYED */
};

#define STRESS__LOOP static inline __attribute__((always_inline)) void
/* Before a loop over results: results whose places are constants stay in registers. In memory, each
 * of them is a store that waits behind the actor's, until another CPU gives up the state's line. */
#ifdef __clang__
#define STRESS__UNROLLED
#else
#define STRESS__UNROLLED _Pragma("GCC unroll 8")
#endif
enum { STRESS__LINE = 64 };

/* Bytes from state to state. They are whole cache lines, which also keeps any alignment that the
 * size implies. */
static inline __attribute__((always_inline)) size_t stress_step(const stress_test *test)
{
	return (test->state_size + STRESS__LINE - 1) / STRESS__LINE * STRESS__LINE;
}

/* The slot of these results in the direct table, or STRESS_UNPACKED. */
static inline __attribute__((always_inline)) unsigned stress__pack(const stress_result *result,
								   int results)
{
	uint64_t all = 0, place = 0;

	if (results > STRESS_DIRECT_RESULTS)
		return STRESS_UNPACKED;
	STRESS__UNROLLED
	for (int r = 0; r < results; r++) {
		all |= (uint64_t)result->r[r];
		place = place << STRESS_DIRECT_BITS | (uint64_t)result->r[r];
	}
	return all <= STRESS_DIRECT_MASK ? (unsigned)place : STRESS_UNPACKED;
}

STRESS__LOOP stress__copy(int64_t *to, const stress_result *result, int results)
{
	STRESS__UNROLLED
	for (int r = 0; r < results; r++)
		to[r] = result->r[r];
}

STRESS__LOOP stress__act(const stress_test *test, int index, const stress_span *the_span)
{
	/* A copy that nothing else can change stays in registers. */
	const stress_span span = *the_span;
	stress_actor *actor = test->actors[index];
	char *state = span.states + span.first * stress_step(test);

	if (!actor)
		return;
	for (size_t i = span.first; i < span.end; i++) {
		stress_result result = {{0}};
		unsigned place;

		actor(state, &result);
		place = stress__pack(&result, test->results);
		span.seen[index][i] = (uint16_t)place;
		if (place == STRESS_UNPACKED)
			stress__copy(&span.wide[index][i * (size_t)test->results], &result,
				     test->results);
		state += stress_step(test);
	}
}

STRESS__LOOP stress__renew(const stress_test *test, void *state)
{
	memset(state, 0, test->state_size);
	if (test->init)
		test->init(state);
}

/* Adds the results of actor `index` in state i. */
STRESS__LOOP stress__add(const stress_test *test, int index, const stress_span *span, size_t i,
			 stress_result *result)
{
	unsigned place;

	if (!test->actors[index])
		return;
	place = span->seen[index][i];
	STRESS__UNROLLED
	for (int r = 0; r < test->results; r++) {
		if (place == STRESS_UNPACKED)
			result->r[r] += span->wide[index][i * (size_t)test->results + (size_t)r];
		else
			result->r[r] += place >> STRESS_DIRECT_BITS * (test->results - 1 - r) &
					STRESS_DIRECT_MASK;
	}
}

STRESS__LOOP stress__count(const stress_span *span, const stress_result *result, int results)
{
	unsigned place = stress__pack(result, results);

	if (place == STRESS_UNPACKED) {
		stress_result wide;

		stress__copy(wide.r, result, results);
		stress_count_wide(span->tally, &wide, results);
	} else {
		span->direct[place]++;
	}
}

STRESS__LOOP stress__settle(const stress_test *test, const stress_span *the_span)
{
	const stress_span span = *the_span;
	char *state = span.states + span.first * stress_step(test);

	for (size_t i = span.first; i < span.end; i++) {
		stress_result result = {{0}};

		stress__add(test, 0, &span, i, &result); /* no loop: gcc 12 would not unroll it */
		stress__add(test, 1, &span, i, &result);
		stress__add(test, 2, &span, i, &result);
		stress__add(test, 3, &span, i, &result);
		stress__add(test, 4, &span, i, &result);
		stress__add(test, 5, &span, i, &result);
		stress__add(test, 6, &span, i, &result);
		stress__add(test, 7, &span, i, &result);
		stress__add(test, 8, &span, i, &result);
		stress__add(test, 9, &span, i, &result);
		stress__add(test, 10, &span, i, &result);
		stress__add(test, 11, &span, i, &result);
		stress__add(test, 12, &span, i, &result);
		stress__add(test, 13, &span, i, &result);
		stress__add(test, 14, &span, i, &result);
		stress__add(test, 15, &span, i, &result);
		if (test->arbiter)
			test->arbiter(state, &result);
		stress__count(&span, &result, test->results);
		if (test->fini)
			test->fini(state);
		stress__renew(test, state);
		state += stress_step(test);
	}
}

#ifdef WP_STRESS_DELAYED
enum { STRESS__DELAYED = 1 };
#else
enum { STRESS__DELAYED = 0 };
#endif

#define STRESS__ACT(name_, k_)                                          \
	static void stress__act_##name_##_##k_(const stress_span *span) \
	{                                                               \
		stress__act(&stress__test_##name_, k_, span);           \
	}
#define STRESS__LOOPS(name_)                                                                       \
	STRESS__ACT(name_, 0)                                                                      \
	STRESS__ACT(name_, 1)                                                                      \
	STRESS__ACT(name_, 2)                                                                      \
	STRESS__ACT(name_, 3)                                                                      \
	STRESS__ACT(name_, 4)                                                                      \
	STRESS__ACT(name_, 5)                                                                      \
	STRESS__ACT(name_, 6)                                                                      \
	STRESS__ACT(name_, 7)                                                                      \
	STRESS__ACT(name_, 8)                                                                      \
	STRESS__ACT(name_, 9)                                                                      \
	STRESS__ACT(name_, 10)                                                                     \
	STRESS__ACT(name_, 11)                                                                     \
	STRESS__ACT(name_, 12)                                                                     \
	STRESS__ACT(name_, 13)                                                                     \
	STRESS__ACT(name_, 14)                                                                     \
	STRESS__ACT(name_, 15)                                                                     \
	static void stress__settle_##name_(const stress_span *span)                                \
	{                                                                                          \
		stress__settle(&stress__test_##name_, span);                                       \
	}                                                                                          \
	static const struct stress_loops stress__loops_##name_ = {                                 \
		.act = {stress__act_##name_##_0, stress__act_##name_##_1, stress__act_##name_##_2, \
			stress__act_##name_##_3, stress__act_##name_##_4, stress__act_##name_##_5, \
			stress__act_##name_##_6, stress__act_##name_##_7, stress__act_##name_##_8, \
			stress__act_##name_##_9, stress__act_##name_##_10,                         \
			stress__act_##name_##_11, stress__act_##name_##_12,                        \
			stress__act_##name_##_13, stress__act_##name_##_14,                        \
			stress__act_##name_##_15},                                                 \
		.settle = stress__settle_##name_,                                                  \
		.delayed = STRESS__DELAYED,                                                        \
	};

#endif
