/* SPDX-License-Identifier: Apache-2.0
 * fiber.h - a fiber: code with a stack of its own that stops in the middle and continues later.
 *
 *   from                                        to
 *   push the registers that a call preserves;   sp := to->sp
 *   from->sp := sp                              call `then`, if given: `from` has been left
 *                                               pop the registers
 *                                               jump to where it stopped, or to its entry
 *
 *   Usage    wp_fiber_init(&fiber, low, bytes, entry, argument);
 *            wp_fiber_thread(&thread);
 *            value = wp_fiber_switch(&thread, &fiber, 0);      until the fiber switches back
 *
 * Why it works  To the compiler a switch is a call, so the compiler has saved all that a call may
 *               change. The switch saves the rest: rbx, rbp, r12 to r15 (on AArch64 x19 to x30, d8
 *               to d15).
 *               The way back into a fiber is a jump, not a return. The processor predicts a return
 *               from the last call that it saw, and that call was made on another stack. So let the
 *               switch be the last thing that a function does (`return wp_fiber_switch(..)`). The
 *               compiler then makes the call of the switch a jump, the way back skips that
 *               function, and no return is mispredicted. A switch returns the value that the other
 *               side passed.
 *               Unwinding ends below the entry, where the return address is marked as undefined.
 * Not promised  Shadow stacks (CET) are not supported: they know returns only. So the assembly does
 *               not carry their mark, and the linker leaves them off. AArch64 under BTI comes back
 *               by a return. A thread-local variable may be wrong after a switch, if the compiler
 *               keeps its address across the switch and the fiber continues on another OS thread.
 *               The control words of floating point, such as the rounding mode, are left as they
 *               are (rounding.h). Signal masks belong to the OS thread. LeakSanitizer does not look into parked
 *               stacks.
 * Prior art     The context switch of Boost.Context.
 * Spec          None: the thread that switches owns both fibers.
 * Evidence      tests/thread/test_fiber.py, with a twin for each register; wakeproof bench -t
 *               fiber. */
#ifndef WP_FIBER_H
#define WP_FIBER_H

#include <stddef.h>

#include "base/order.h"

#if defined(__SANITIZE_ADDRESS__)
#define WP__FIBER_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WP__FIBER_TSAN 1
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define WP__FIBER_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WP__FIBER_TSAN 1
#endif
#endif
#if defined(WP__FIBER_ASAN) || defined(WP__FIBER_TSAN)
#define WP__FIBER_TOLD 1 /* each switch is announced to the sanitizers */
#endif

/* 8 bytes, written by the switch that leaves the fiber. */
typedef struct wp_fiber {
	void *sp; /* while it does not run: the address of its saved registers */
#ifdef WP__FIBER_TOLD
	void (*entry)(void *arg);
	void *arg;
	const void *low;
	size_t bytes;
	void *fake;   /* AddressSanitizer's second stack */
	void *shadow; /* ThreadSanitizer's fiber */
#endif
} wp_fiber;

/* Makes a fiber: the first switch to it calls entry(arg) on the `bytes` above `low`. The entry
 * never returns, but ends by wp_fiber_leave. [before it is shared | wait-free] */
void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *arg), void *arg);

#ifdef WP__FIBER_TOLD
void wp_fiber_thread(wp_fiber *fiber);
void wp_fiber_fini(wp_fiber *fiber);
#else
/* Makes a fiber for the calling OS thread, so that it can switch to another fiber and back. [any
 * thread | wait-free] */
WP_INLINE void wp_fiber_thread(wp_fiber *fiber)
{
	fiber->sp = NULL;
}

/* Ends a fiber. Call this from another fiber, after the last switch away from this fiber, or if
 * this fiber never began. [its owner | wait-free] */
WP_INLINE void wp_fiber_fini(wp_fiber *fiber)
{
	(void)fiber;
}
#endif

uintptr_t wp__fiber_jump(wp_fiber *from, wp_fiber *to, uintptr_t value, void (*then)(void *arg),
			 void *arg);

#ifdef WP__FIBER_TOLD
uintptr_t wp_fiber_switch(wp_fiber *from, wp_fiber *to, uintptr_t value);
_Noreturn void wp_fiber_leave(wp_fiber *from, wp_fiber *to, uintptr_t value);
uintptr_t wp_fiber_switch_then(wp_fiber *from, wp_fiber *to, uintptr_t value,
			       void (*then)(void *arg), void *arg);
_Noreturn void wp_fiber_leave_then(wp_fiber *from, wp_fiber *to, uintptr_t value,
				   void (*then)(void *arg), void *arg);
#else
/* Stops `from`, which is running, and continues `to`. The switch by which `to` stopped returns
 * `value` there; if `to` runs for the first time, `value` is not used. This call returns when
 * another fiber switches back to `from`, with the value that it passes. [the thread that runs
 * `from` and owns `to` | wait-free] */
WP_INLINE uintptr_t wp_fiber_switch(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	return wp__fiber_jump(from, to, value, NULL, NULL);
}

/* Like wp_fiber_switch, but `from` never continues: it may be deallocated once `to` runs. [as
 * wp_fiber_switch] */
WP_INLINE _Noreturn void wp_fiber_leave(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	wp__fiber_jump(from, to, value, NULL, NULL);
	__builtin_unreachable();
}

/* Like the two functions above, but when `from` has been left they first call then(arg) on the
 * stack of `to`. From that call on, another thread may continue `from`, or reuse its stack. [as
 * wp_fiber_switch, and as `then`] */
WP_INLINE uintptr_t wp_fiber_switch_then(wp_fiber *from, wp_fiber *to, uintptr_t value,
					 void (*then)(void *arg), void *arg)
{
	return wp__fiber_jump(from, to, value, then, arg);
}

WP_INLINE _Noreturn void wp_fiber_leave_then(wp_fiber *from, wp_fiber *to, uintptr_t value,
					     void (*then)(void *arg), void *arg)
{
	wp__fiber_jump(from, to, value, then, arg);
	__builtin_unreachable();
}
#endif

#endif
