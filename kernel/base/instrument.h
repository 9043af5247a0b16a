/* SPDX-License-Identifier: Apache-2.0
 * instrument.h - what each operation of order.h becomes: the C11 operation, or a judge's own.
 *
 *   product                        the C11 operation
 *   -DWP_INSTRUMENT='"FILE"'       what that header defines in place of every macro below
 *
 *     stress/harness/engine/instrument.h    the C11 operation after a random delay; reports sleeps
 *     stress/harness/recorder/instrument.h  the C11 operation, with stamps recorded around it
 *     stress/explorer/instrument.h          a call of the explorer, which decides when it
 *                                           takes effect, as the model allows
 *
 * Why it works  Each access of this library to shared memory is one of these macros, and so is each
 *               call of futex and eventfd. So a judge that replaces the macros sees everything that
 *               threads can see of one another. The explorer sees plain accesses through the hooks
 *               of -fsanitize=thread. A judge may also define a smaller size here
 *               (WP_LOCAL_CAPACITY, for example) to get fewer states.
 * Included by   order.h alone, after <stdatomic.h>.
 * Spec          None.
 * Evidence      tests/judge/explore/test_engines.py. */
#ifndef WP_INSTRUMENT_H
#define WP_INSTRUMENT_H

#ifdef WP_INSTRUMENT
#include WP_INSTRUMENT
#else

#include <sched.h>

#define WP__INIT(p, v) atomic_init((p), (v))
#define WP__LOAD(p, order) atomic_load_explicit((p), (order))
#define WP__STORE(p, v, order) atomic_store_explicit((p), (v), (order))
#define WP__EXCHANGE(p, v, order) atomic_exchange_explicit((p), (v), (order))
#define WP__FETCH_ADD(p, v, order) atomic_fetch_add_explicit((p), (v), (order))
#define WP__FETCH_OR(p, v, order) atomic_fetch_or_explicit((p), (v), (order))
#define WP__FETCH_AND(p, v, order) atomic_fetch_and_explicit((p), (v), (order))
#define WP__CAS(p, expected, v, order, fail_order) \
	atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), (fail_order))
#define WP__CAS_WEAK(p, expected, v, order, fail_order) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), (order), (fail_order))
#define WP__FENCE(order) atomic_thread_fence(order)
#define WP__FENCE_SEQ_CST() wp__fence_seq_cst()
#define WP__LIGHT_FENCE() atomic_signal_fence(memory_order_seq_cst)
#define WP__HEAVY_FENCE() (wp_fence_heavy)()

/* The first is for a system call. The second is for a system call that sleeps while the word has
 * the expected value. */
#define WP__SYSTEM(name, p, operand, call) (call)
#define WP__SLEEP(name, p, expected, call) (call)
#define WP__YIELD() ((void)sched_yield())
#define WP__WAIT_A_TURN(turns) wp__wait_a_turn(turns)
/* Wraps each count that no protocol reads (counters.h). */
#define WP__COUNTED(count) (count)

#endif
#endif
