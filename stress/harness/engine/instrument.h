/* SPDX-License-Identifier: Apache-2.0
 * engine/instrument.h - the C11 operations on real cores, each after a random delay if delays are
 * compiled in.
 *
 * kernel/base/instrument.h, which names every macro, includes this file if -DWP_INSTRUMENT names
 * it. */
#ifndef WP_ENGINE_INSTRUMENT_H
#define WP_ENGINE_INSTRUMENT_H

#include <sched.h>
#include <stdint.h>

#include "harness/engine/sleep.h"

#ifdef WP_STRESS_DELAYED
void wp__stress_delay(void); /* delay.c: stretches the window before each access */
#define WP__DELAYED(operation) (wp__stress_delay(), (operation))
#else
#define WP__DELAYED(operation) (operation)
#endif

#define WP__INIT(p, v) atomic_init((p), (v))
#define WP__LOAD(p, order) WP__DELAYED(atomic_load_explicit((p), (order)))
#define WP__STORE(p, v, order) WP__DELAYED(atomic_store_explicit((p), (v), (order)))
#define WP__EXCHANGE(p, v, order) WP__DELAYED(atomic_exchange_explicit((p), (v), (order)))
#define WP__FETCH_ADD(p, v, order) WP__DELAYED(atomic_fetch_add_explicit((p), (v), (order)))
#define WP__FETCH_OR(p, v, order) WP__DELAYED(atomic_fetch_or_explicit((p), (v), (order)))
#define WP__FETCH_AND(p, v, order) WP__DELAYED(atomic_fetch_and_explicit((p), (v), (order)))
#define WP__CAS(p, expected, v, order, fail_order)                                         \
	WP__DELAYED(atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), \
							    (fail_order)))
#define WP__CAS_WEAK(p, expected, v, order, fail_order)                                  \
	WP__DELAYED(atomic_compare_exchange_weak_explicit((p), (expected), (v), (order), \
							  (fail_order)))
#define WP__FENCE(order) WP__DELAYED(atomic_thread_fence(order))
#define WP__FENCE_SEQ_CST() WP__DELAYED(wp__fence_seq_cst())
#define WP__LIGHT_FENCE() WP__DELAYED(atomic_signal_fence(memory_order_seq_cst))
#define WP__HEAVY_FENCE() (wp_fence_heavy)()
#define WP__SYSTEM(name, p, operand, call) (call)
#ifdef WP_STRESS /* the engine is linked, with its watchdog */
#define WP__SLEEP(name, p, expected, call) WP__ANNOUNCED(p, expected, call)
#else
#define WP__SLEEP(name, p, expected, call) (call)
#endif
#define WP__STEP() ((void)0)
#define WP__YIELD() ((void)sched_yield())
#define WP__WAIT_A_TURN(turns) wp__wait_a_turn(turns)
#define WP__COUNTED(count) (count)

#if defined(WP_STRESS) && !defined(WP_LOCAL_CAPACITY)
#define WP_LOCAL_CAPACITY 4 /* full within few steps */
#endif

#endif
