/* SPDX-License-Identifier: Apache-2.0
 * fiber.h - a stackful context: code that stops in the middle and goes on later, on a stack of its
 * own.
 *
 *   from                                        to
 *   registers that a call preserves onto its    sp := to->sp
 *   stack; from->sp := sp                       what may be done when `from` is left, if anything
 *                                               the registers from there
 *                                               jump to where it stopped, or to its entry
 *
 * Why it works  To the compiler a switch is a call: what a call may change it has saved already.
 *               The rest is kept: rbx, rbp, r12 to r15 (x19 to x30, d8 to d15) and the control
 *               words of floating point, rounding for one, which are only loaded where the two
 *               differ: loading them costs ten switches. The flags that floating point collects
 *               are not control: they stay with the OS thread.
 *               The way back is a jump, not a return: the processor foresees a return by the last
 *               call that it saw, which another stack made. So let the switch be the last thing
 *               that a function does (`return wp_fiber_switch(..)`): the compiler then jumps there,
 *               the way back leads past that function, and no return is mispredicted. What the
 *               switch gives is the value that the other side passed.
 *               Unwinding ends below the entry: there the return address is marked as undefined.
 * Not promised  Shadow stacks (CET): they know returns only, so the assembly does not carry their
 *               mark, and the linker leaves them off. AArch64 under BTI comes back by a return.
 *               What the compiler keeps of thread-local variables across a switch, if the fiber
 *               goes on in another OS thread. Signal masks: they are the OS thread's.
 *               LeakSanitizer does not look into parked stacks.
 * Spec          none: whoever switches owns both.
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
#define WP__FIBER_TOLD 1 /* sanitizers are told of each switch */
#endif

/* 8 bytes; written by the switch that leaves it. */
typedef struct wp_fiber {
	void *sp; /* while it does not run: its registers lie there */
#ifdef WP__FIBER_TOLD
	void (*entry)(void *arg);
	void *arg;
	const void *low;
	size_t bytes;
	void *fake;   /* AddressSanitizer's second stack */
	void *shadow; /* ThreadSanitizer's fiber */
#endif
} wp_fiber;

/* The first switch to it calls entry(arg) on the `bytes` above `low`. The entry never returns: it
 * ends by wp_fiber_leave. Floating point is controlled as it is for the caller now.
 * [before it is shared | wait-free] */
void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *arg), void *arg);

#ifdef WP__FIBER_TOLD
void wp_fiber_thread(wp_fiber *fiber);
void wp_fiber_fini(wp_fiber *fiber);
#else
/* The calling OS thread, to switch from, and back to. [any thread | wait-free] */
WP_INLINE void wp_fiber_thread(wp_fiber *fiber)
{
	fiber->sp = NULL;
}

/* After its last switch, by another; or never begun. [who owns it | wait-free] */
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
/* Stops `from`, which is running, and goes on with `to`, whose own switch gives `value`, unless it
 * is its first. Gives the value of whoever switches back.
 * [who runs from and owns to | wait-free] */
WP_INLINE uintptr_t wp_fiber_switch(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	return wp__fiber_jump(from, to, value, NULL, NULL);
}

/* The same, for ever: `from` may be given up when `to` runs. [as above] */
WP_INLINE _Noreturn void wp_fiber_leave(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	wp__fiber_jump(from, to, value, NULL, NULL);
	__builtin_unreachable();
}

/* The same two, and then(arg) is called first, on the stack of `to`, when `from` is left: another
 * thread may go on with it, or reuse its stack, from then on. [as above, and as `then`] */
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
