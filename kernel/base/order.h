/* SPDX-License-Identifier: Apache-2.0
 * order.h - the one place that includes <stdatomic.h>: the name of an operation ends in its memory
 * order.
 *
 *   hot side, which runs often      rare side, which runs rarely
 *   store; wp_fence_light; load     store; wp_fence_heavy; load
 *
 * Why it works  Only the combinations of operation and order that are in use exist, so a reader
 *               sees each order and a machine finds each site. Sequentially consistent accesses are
 *               missing on purpose: they are weaker than they look (in RC11 a seq_cst
 *               read-modify-write is not a fence). Some stores must be ordered before a later load.
 *               Either both sides then use wp_fence_seq_cst, or the hot side uses the light fence
 *               and the rare side the heavy one. The heavy fence is membarrier(2): it makes every
 *               running thread of the process pass a full barrier. So on the hot side it is enough
 *               that the compiler keeps the order.
 * As weak as    Each labelled order is as weak as possible: with an order that is one step weaker,
 *               a scenario fails (wakeproof orders). If no scenario fails, weaken the order, or
 *               write `kept:` and the reason into its comment.
 * Prior art     mimalloc and JCTools name the order in the operation; liburcu and folly use
 *               membarrier for asymmetric fences.
 * Spec          None of its own; specs/wakeup/Guard.tla has both pairs of fences over explicit
 *               store buffers.
 * Evidence      tests/across/test_kernel.py reads the emitted code; wakeproof doctor shows whether
 *               membarrier is there.
 *
 * instrument.h defines what an operation is made of, and where judges replace it. */
#ifndef WP_ORDER_H
#define WP_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/api.h"
#include "base/instrument.h"

/* Bytes. Two 64-byte lines, because adjacent-line prefetchers move lines in pairs. */
#define WP_LINE 128

/* Sets the first value before the object is shared. No other thread sees this store, so it has
 * neither an order nor a label. */
#define wp_init(p, v) WP__INIT(p, v)

#define wp_load_relaxed(p) WP__LOAD(p, memory_order_relaxed)
#define wp_load_acquire(p) WP__LOAD(p, memory_order_acquire)

#define wp_store_relaxed(p, v) WP__STORE(p, v, memory_order_relaxed)
#define wp_store_release(p, v) WP__STORE(p, v, memory_order_release)

#define wp_exchange_acquire(p, v) WP__EXCHANGE(p, v, memory_order_acquire)
#define wp_exchange_release(p, v) WP__EXCHANGE(p, v, memory_order_release)
#define wp_exchange_acq_rel(p, v) WP__EXCHANGE(p, v, memory_order_acq_rel)

/* Strong compare-and-swap. On failure *expected is the value that was found; it is read relaxed. */
#define wp_cas_relaxed(p, expected, v) \
	WP__CAS(p, expected, v, memory_order_relaxed, memory_order_relaxed)
#define wp_cas_acquire(p, expected, v) \
	WP__CAS(p, expected, v, memory_order_acquire, memory_order_relaxed)
#define wp_cas_release(p, expected, v) \
	WP__CAS(p, expected, v, memory_order_release, memory_order_relaxed)

#define wp_cas_acq_rel(p, expected, v) \
	WP__CAS(p, expected, v, memory_order_acq_rel, memory_order_relaxed)

#define wp_fetch_add_relaxed(p, v) WP__FETCH_ADD(p, v, memory_order_relaxed)
#define wp_fetch_add_release(p, v) WP__FETCH_ADD(p, v, memory_order_release)
#define wp_fetch_add_acq_rel(p, v) WP__FETCH_ADD(p, v, memory_order_acq_rel)
#define wp_fetch_or_relaxed(p, v) WP__FETCH_OR(p, v, memory_order_relaxed)
#define wp_fetch_or_acquire(p, v) WP__FETCH_OR(p, v, memory_order_acquire)
#define wp_fetch_or_release(p, v) WP__FETCH_OR(p, v, memory_order_release)
#define wp_fetch_or_acq_rel(p, v) WP__FETCH_OR(p, v, memory_order_acq_rel)
#define wp_fetch_and_relaxed(p, v) WP__FETCH_AND(p, v, memory_order_relaxed)
#define wp_fetch_and_acquire(p, v) WP__FETCH_AND(p, v, memory_order_acquire)

/* For the C11 fence clang emits mfence, which costs nine times as much as a locked instruction on
 * the current stack. Both order stores before later loads. With ThreadSanitizer the C11 form stays,
 * because ThreadSanitizer instruments at least that. */
#if defined(__clang__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WP__TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#pragma GCC diagnostic ignored \
	"-Wtsan" /* gcc: "not supported"; no data of this library is published by a fence */
#endif
WP_INLINE void wp__fence_seq_cst(void)
{
#if defined(__x86_64__) && defined(__clang__) && !defined(WP__TSAN)
	__asm__ __volatile__("lock; orl $0, (%%rsp)" ::: "memory", "cc");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}
#define wp_fence_seq_cst() WP__FENCE_SEQ_CST()

/* The asymmetric pair of fences. The light fence orders the compiler alone, and neither acquires
 * nor releases. The heavy fence fails if the system forbids membarrier, or after an exec. [any
 * thread | a system call] */
#define wp_fence_light() WP__LIGHT_FENCE()
bool(wp_fence_heavy)(void); /* in parentheses, because callers see a macro of this name */
#define wp_fence_heavy() WP__HEAVY_FENCE()

/* Prepares the process for heavy fences. Call it before the first one; to call it again is
 * harmless. Returns false if the system has no membarrier; then use seq_cst fences instead. The
 * registration covers threads that start later. A child process inherits it through fork, and exec
 * clears it. [any thread | a system call] */
bool wp_fence_heavy_register(void);

/* Tells the processor that this is a spin loop, so that the other hyperthread may run. [any thread
 * | wait-free] */
WP_INLINE void wp_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__(
		"isb" ::
			: "memory"); /* yield is a no-op on most cores; isb waits a little */
#endif
}

/* Gives the CPU to another thread, because the thread that the caller waits for may have lost its
 * CPU. */
#define wp_yield() WP__YIELD()

/* The number of pauses before a thread that waits yields its CPU. They take about 2 us, which is as
 * long as several short critical sections and far below a time slice. After as many yields it
 * sleeps, because a yield does not let a thread of a lower real-time priority run. */
enum { WP_PAUSES = 64 };

void wp__sleep_a_turn(void);

WP_INLINE void wp__wait_a_turn(unsigned *turns)
{
	if (++*turns < WP_PAUSES)
		wp_pause();
	else if (*turns < 2 * WP_PAUSES)
		wp_yield();
	else
		wp__sleep_a_turn();
}

/* One turn of a loop that waits for another thread which needs only an instant. The first turns
 * pause; later ones yield the CPU, because that thread may have lost its own, and in the end they
 * sleep for a moment. `turns` is 0 at first. [any thread | may sleep for 50 us] */
#define wp_wait_a_turn(turns) WP__WAIT_A_TURN(turns)

#endif
