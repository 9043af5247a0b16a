/* SPDX-License-Identifier: Apache-2.0
 * litmus.h - every C11 order, for scenarios and tests only.
 *
 *   litmus_store(&state->x, 1, seq_cst);    relaxed | release | seq_cst
 *   litmus_load(&state->y, acquire)         relaxed | acquire | seq_cst
 *
 * The kernel has no sequentially consistent accesses (kernel/base/order.h says why), but other
 * projects' code does: these operations write down such a race. They all are instrumented, so that
 * both stress and the explorer run them.
 *
 * Spec  none. Evidence  tests/judge/scenarios/litmus.c, tests/judge/explore/test_trust.py. */
#ifndef WP_LITMUS_H
#define WP_LITMUS_H

#include "base/order.h"

/* An order that C11 does not allow for an operation does not compile. */
#define LITMUS__CHECK(holds, what)           \
	((void)sizeof(struct {               \
		_Static_assert(holds, what); \
		char unused;                 \
	}))
#define LITMUS__IS_LOAD(order)                           \
	(memory_order_##order == memory_order_relaxed || \
	 memory_order_##order == memory_order_acquire || \
	 memory_order_##order == memory_order_seq_cst)
#define LITMUS__IS_STORE(order)                          \
	(memory_order_##order == memory_order_relaxed || \
	 memory_order_##order == memory_order_release || \
	 memory_order_##order == memory_order_seq_cst)
#define LITMUS__CHECK_FAILURE(order)          \
	LITMUS__CHECK(LITMUS__IS_LOAD(order), \
		      "the failure of a cas is relaxed, acquire or seq_cst, not " #order)

#define litmus_load(p, order)                                                 \
	(LITMUS__CHECK(LITMUS__IS_LOAD(order),                                \
		       "a load is relaxed, acquire or seq_cst, not " #order), \
	 WP__LOAD(p, memory_order_##order))
#define litmus_store(p, v, order)                                              \
	(LITMUS__CHECK(LITMUS__IS_STORE(order),                                \
		       "a store is relaxed, release or seq_cst, not " #order), \
	 WP__STORE(p, v, memory_order_##order))
#define litmus_exchange(p, v, order) WP__EXCHANGE(p, v, memory_order_##order)
#define litmus_fetch_add(p, v, order) WP__FETCH_ADD(p, v, memory_order_##order)
#define litmus_fetch_or(p, v, order) WP__FETCH_OR(p, v, memory_order_##order)
#define litmus_fetch_and(p, v, order) WP__FETCH_AND(p, v, memory_order_##order)
/* True: *expected was found and v stored. False: *expected now holds the value that was found. */
#define litmus_cas(p, expected, v, order, fail_order) \
	(LITMUS__CHECK_FAILURE(fail_order),           \
	 WP__CAS(p, expected, v, memory_order_##order, memory_order_##fail_order))
/* The same, but it may fail spuriously. */
#define litmus_cas_weak(p, expected, v, order, fail_order) \
	(LITMUS__CHECK_FAILURE(fail_order),                \
	 WP__CAS_WEAK(p, expected, v, memory_order_##order, memory_order_##fail_order))
#define litmus_fence(order) WP__FENCE(memory_order_##order)
/* Another thread may run here: a step of its own in the explorer, nothing on real cores. */
#define litmus_step() WP__STEP()
/* Returns any of 0 .. n - 1, for what a spec leaves open. The explorer tries every value, as a step
 * of its own; real cores choose one by the clock. */
#ifdef WP_EXPLORE
#define litmus_choose(n) WP__CHOOSE(n)
/* An operation begins with an argument, or returns a value. Both are steps of their own that touch
 * no memory; `wakeproof linear` reads histories from them. */
#define litmus_call(operation, argument) LITMUS__MARK("call " #operation, argument)
#define litmus_return(operation, value) LITMUS__MARK("return " #operation, value)
#define LITMUS__MARK(what, number) \
	((void)wp__explore(WP__EXPLORE_LOCAL, 0, 0, 0, (uint64_t)(number), 0, WP__SITE(what)))
#else
#include <time.h>
#define litmus_choose(n) WP__SYSTEM("", 0, n, litmus__choose(n))
#define litmus_call(operation, argument) ((void)(argument))
#define litmus_return(operation, value) ((void)(value))
WP_INLINE unsigned litmus__choose(unsigned n)
{
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	return (unsigned)((uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) >> 33) % n;
}
#endif

#endif
