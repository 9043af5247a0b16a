/* SPDX-License-Identifier: Apache-2.0
 * sim_counted.h - the C11 operations, each write of which is counted; for sim_counted.c, which
 * names this file by WP_INSTRUMENT. */
#ifndef WP_BENCH_SIM_COUNTED_H
#define WP_BENCH_SIM_COUNTED_H

#include <sched.h>

static void count_write(const volatile void *word);

#define WP__COUNTING(p, operation) (count_write(p), (operation))

#define WP__INIT(p, v) atomic_init((p), (v))
#define WP__LOAD(p, order) atomic_load_explicit((p), (order))
#define WP__STORE(p, v, order) WP__COUNTING(p, atomic_store_explicit((p), (v), (order)))
#define WP__EXCHANGE(p, v, order) WP__COUNTING(p, atomic_exchange_explicit((p), (v), (order)))
#define WP__FETCH_ADD(p, v, order) WP__COUNTING(p, atomic_fetch_add_explicit((p), (v), (order)))
#define WP__FETCH_OR(p, v, order) WP__COUNTING(p, atomic_fetch_or_explicit((p), (v), (order)))
#define WP__FETCH_AND(p, v, order) WP__COUNTING(p, atomic_fetch_and_explicit((p), (v), (order)))
#define WP__CAS(p, expected, v, order, fail_order)                                             \
	WP__COUNTING(p, atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), \
								(fail_order)))
#define WP__CAS_WEAK(p, expected, v, order, fail_order)                                      \
	WP__COUNTING(p, atomic_compare_exchange_weak_explicit((p), (expected), (v), (order), \
							      (fail_order)))
#define WP__FENCE(order) atomic_thread_fence(order)
#define WP__FENCE_SEQ_CST() wp__fence_seq_cst()
#define WP__LIGHT_FENCE() atomic_signal_fence(memory_order_seq_cst)
#define WP__HEAVY_FENCE() (wp_fence_heavy)()
#define WP__SYSTEM(name, p, operand, call) (call)
#define WP__SLEEP(name, p, expected, call) (call)
#define WP__YIELD() ((void)sched_yield())
#define WP__WAIT_A_TURN(turns) wp__wait_a_turn(turns)
#define WP__COUNTED(count) (count)

#endif
