/* SPDX-License-Identifier: Apache-2.0
 * recorder/instrument.h - turns each operation of the kernel into an event in the ring of its
 * thread (access_log.h).
 *
 * kernel/base/instrument.h, which names every macro, includes this file if -DWP_INSTRUMENT names
 * it. */
#ifndef WP_RECORDER_INSTRUMENT_H
#define WP_RECORDER_INSTRUMENT_H

#include <sched.h>
#include <stdint.h>

#include "harness/engine/sleep.h"
#include "harness/recorder/access_log.h"

#define WP__WORD(v) ((uint64_t)(uintptr_t)(v))
#define WP__VALUE_OF(p) __typeof__(atomic_load_explicit((p), memory_order_relaxed))
#define WP__SITE(name)                                                            \
	__extension__({                                                           \
		static const wp_event_site wp__site = {__FILE__, __LINE__, name}; \
		&wp__site;                                                        \
	})
/* An operation that returns what it read. `wp__v` is the operand inside it. */
#define WP__RECORD(p, v, operation)                                                     \
	__extension__({                                                                 \
		WP__VALUE_OF(p) wp__v = (v);                                            \
		wp_event *wp__event =                                                   \
			wp__event_begin(WP__SITE(""), (uintptr_t)(p), WP__WORD(wp__v)); \
		WP__VALUE_OF(p) wp__read = (operation);                                 \
		wp__event_end(wp__event, WP__WORD(wp__read), 1);                        \
		(void)wp__v;                                                            \
		wp__read;                                                               \
	})
/* Any other operation: a system call, a fence, a choice. */
#define WP__SYSTEM(name, p, operand, call)                                                    \
	__extension__({                                                                       \
		wp_event *wp__event =                                                         \
			wp__event_begin(WP__SITE(name), (uintptr_t)(p), (uint64_t)(operand)); \
		__typeof__(call) wp__result = (call);                                         \
		wp__event_end(wp__event, (uint64_t)wp__result, 1);                            \
		wp__result;                                                                   \
	})
#define WP__INIT(p, v) atomic_init((p), (v))
#define WP__LOAD(p, order) WP__RECORD(p, 0, atomic_load_explicit((p), (order)))
#define WP__STORE(p, v, order) \
	((void)WP__RECORD(p, v, (atomic_store_explicit((p), wp__v, (order)), wp__v)))
#define WP__EXCHANGE(p, v, order) WP__RECORD(p, v, atomic_exchange_explicit((p), wp__v, (order)))
#define WP__FETCH_ADD(p, v, order) WP__RECORD(p, v, atomic_fetch_add_explicit((p), wp__v, (order)))
#define WP__FETCH_OR(p, v, order) WP__RECORD(p, v, atomic_fetch_or_explicit((p), wp__v, (order)))
#define WP__FETCH_AND(p, v, order) WP__RECORD(p, v, atomic_fetch_and_explicit((p), wp__v, (order)))
#define WP__CAS(p, expected, v, order, fail_order)                                               \
	__extension__({                                                                          \
		WP__VALUE_OF(p) wp__v = (v);                                                     \
		wp_event *wp__event =                                                            \
			wp__event_begin(WP__SITE(""), (uintptr_t)(p), WP__WORD(wp__v));          \
		_Bool wp__done = atomic_compare_exchange_strong_explicit((p), (expected), wp__v, \
									 (order), (fail_order)); \
		wp__event_end(wp__event, WP__WORD(*(expected)), wp__done);                       \
		wp__done;                                                                        \
	})
#define WP__CAS_WEAK WP__CAS
#define WP__FENCE(order) ((void)WP__SYSTEM("", 0, 0, (atomic_thread_fence(order), 0)))
#define WP__LIGHT_FENCE() \
	((void)WP__SYSTEM("", 0, 0, (atomic_signal_fence(memory_order_seq_cst), 0)))
#define WP__STEP() ((void)WP__SYSTEM("", 0, 0, 0))
#define WP__YIELD() ((void)sched_yield())

#define WP__FENCE_SEQ_CST() WP__FENCE(memory_order_seq_cst)
#define WP__HEAVY_FENCE() WP__SYSTEM("", 0, 0, (wp_fence_heavy)())
#define WP__SLEEP(name, p, expected, call) \
	WP__SYSTEM(name, p, expected, WP__ANNOUNCED(p, expected, call))
#define WP__WAIT_A_TURN(turns) wp__wait_a_turn(turns)
#define WP__COUNTED(count) ((void)0) /* no protocol reads them, and each would be an event */

#ifndef WP_LOCAL_CAPACITY
#define WP_LOCAL_CAPACITY 4 /* full within few steps */
#endif

#endif
