/* SPDX-License-Identifier: Apache-2.0
 * order.h - the only <stdatomic.h>: an operation's name ends in its memory order.
 *
 *   hot side                        rare side
 *   store; wp_fence_light; load     store; wp_fence_heavy; load
 *
 * Why it works  Only combinations in use exist, so a reader sees each order and a machine finds
 *               each site. Sequentially consistent accesses are missing on purpose: they are
 *               weaker than they look (in RC11 a seq_cst read-modify-write is not a fence). A
 *               store-load hand-off takes wp_fence_seq_cst on both sides, or light on the hot
 *               side and heavy on the other: membarrier makes every running thread of the process
 *               pass a full barrier, so the hot side needs the compiler's order alone.
 * Spec          none of its own; specs/Guard.tla has both fence pairs over explicit store
 *               buffers.
 * Evidence      tests/test_kernel.py reads the emitted code; wakeproof doctor shows whether
 *               membarrier is there.
 *
 * The seam: every shared access of the kernel goes through WP__SEAM, which is where a judge may
 * step in. */
#ifndef WP_ORDER_H
#define WP_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef WP_INLINE
#define WP_INLINE static inline
#endif

/* Bytes. Two 64-byte lines: adjacent-line prefetchers move lines in pairs. */
#define WP_LINE 128

#define wp_atomic(type) _Atomic(type)

#ifdef WP_STRESS_DELAYED
void wp__stress_delay(void); /* the stress engine's: stretches the window before each access */
#define WP__SEAM(operation) (wp__stress_delay(), (operation))
#else
#define WP__SEAM(operation) (operation)
#endif

/* The first value, before the object is shared: no access yet, so no order and no label. */
#define wp_init(p, v) atomic_init((p), (v))

#define wp_load_relaxed(p) WP__SEAM(atomic_load_explicit((p), memory_order_relaxed))
#define wp_load_acquire(p) WP__SEAM(atomic_load_explicit((p), memory_order_acquire))

#define wp_store_relaxed(p, v) WP__SEAM(atomic_store_explicit((p), (v), memory_order_relaxed))
#define wp_store_release(p, v) WP__SEAM(atomic_store_explicit((p), (v), memory_order_release))

#define wp_exchange_acquire(p, v) WP__SEAM(atomic_exchange_explicit((p), (v), memory_order_acquire))
#define wp_exchange_release(p, v) WP__SEAM(atomic_exchange_explicit((p), (v), memory_order_release))
#define wp_exchange_acq_rel(p, v) WP__SEAM(atomic_exchange_explicit((p), (v), memory_order_acq_rel))

/* Strong compare-and-swap; on failure *expected is what was there, read relaxed. */
#define WP__CAS(p, expected, v, order)                                                  \
	WP__SEAM(atomic_compare_exchange_strong_explicit((p), (expected), (v), (order), \
							 memory_order_relaxed))
#define wp_cas_relaxed(p, expected, v) WP__CAS(p, expected, v, memory_order_relaxed)
#define wp_cas_acquire(p, expected, v) WP__CAS(p, expected, v, memory_order_acquire)
#define wp_cas_release(p, expected, v) WP__CAS(p, expected, v, memory_order_release)
#define wp_cas_acq_rel(p, expected, v) WP__CAS(p, expected, v, memory_order_acq_rel)

#define wp_fetch_add_relaxed(p, v) \
	WP__SEAM(atomic_fetch_add_explicit((p), (v), memory_order_relaxed))
#define wp_fetch_add_release(p, v) \
	WP__SEAM(atomic_fetch_add_explicit((p), (v), memory_order_release))
#define wp_fetch_or_release(p, v) WP__SEAM(atomic_fetch_or_explicit((p), (v), memory_order_release))
#define wp_fetch_and_acquire(p, v) \
	WP__SEAM(atomic_fetch_and_explicit((p), (v), memory_order_acquire))
#define wp_fetch_and_release(p, v) \
	WP__SEAM(atomic_fetch_and_explicit((p), (v), memory_order_release))

/* clang emits mfence here, nine times the price of a locked instruction on the own stack; both
 * order stores before later loads. ThreadSanitizer keeps the C11 form, which it at least
 * instruments. */
#if defined(__clang__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WP__TSAN 1
#endif
#endif
#if defined(__x86_64__) && defined(__clang__) && !defined(WP__TSAN)
#define wp_fence_seq_cst() WP__SEAM(wp__fence_locked())
WP_INLINE void wp__fence_locked(void)
{
	__asm__ __volatile__("lock; orl $0, (%%rsp)" ::: "memory", "cc");
}
#else
#ifdef __SANITIZE_THREAD__
#pragma GCC diagnostic ignored \
	"-Wtsan" /* gcc: "not supported"; no kernel data is published by a fence */
#endif
#define wp_fence_seq_cst() WP__SEAM(atomic_thread_fence(memory_order_seq_cst))
#endif

/* The asymmetric pair. Light orders the compiler alone and neither acquires nor releases.
 * Heavy fails where the system forbids membarrier, or after an exec. [any thread | a system call]
 */
#define wp_fence_light() WP__SEAM(atomic_signal_fence(memory_order_seq_cst))
bool wp_fence_heavy(void);

/* Once per process before the first heavy fence; again is harmless. False: use seq_cst fences
 * instead. Covers threads that start later, is inherited by fork and cleared by exec. [any thread |
 * a system call] */
bool wp_fence_heavy_register(void);

/* A hint inside a spin loop that the other hyperthread may run. */
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

#endif
