/* SPDX-License-Identifier: Apache-2.0
 * rounding.h - the control words of floating point: the rounding mode, which exceptions trap, and
 * whether tiny numbers count as zero. The flags in which exceptions are collected are not among
 * them: they stay with the OS thread.
 *
 * Why it works  A fiber's switch leaves the control words as they are (fiber.h), because reading
 *               them takes longer than the rest of it. A virtual thread whose configuration says
 *               keeps_rounding has control words of its own. The others have those of the OS thread
 *               that runs them:
 *
 *               to a thread with words of its own    load its words
 *               away from it                         save its words, load those of the OS thread
 *               the end of any other thread          load those of the OS thread, if they differ
 *
 *               So a thread that changes them without having its own can disturb only threads that
 *               run until it ends. A build for AddressSanitizer or ThreadSanitizer names it at its
 *               next switch, and aborts.
 * Spec          None: the words belong to the thread that runs.
 * Evidence      tests/sched/test_rounding.py. */
#ifndef WP_ROUNDING_H
#define WP_ROUNDING_H

#include <stdint.h>

#include "base/order.h"

#if defined(__x86_64__)
enum { WP__ROUNDING_FLAGS = 0x3f }; /* of mxcsr: not control words */

/* Returns the control words. [any thread | wait-free] */
WP_INLINE uint64_t wp__rounding(void)
{
	uint32_t mxcsr;
	uint16_t cw;

	__asm__ __volatile__("stmxcsr %0" : "=m"(mxcsr));
	__asm__ __volatile__("fnstcw %0" : "=m"(cw));
	return (uint64_t)cw << 32 | (mxcsr & ~(uint32_t)WP__ROUNDING_FLAGS);
}

/* Loads control words. [any thread | wait-free] */
WP_INLINE void wp__rounding_load(uint64_t words)
{
	uint16_t cw = (uint16_t)(words >> 32);
	uint32_t mxcsr;

	__asm__ __volatile__("stmxcsr %0" : "=m"(mxcsr));
	mxcsr = (uint32_t)words | (mxcsr & WP__ROUNDING_FLAGS);
	__asm__ __volatile__("ldmxcsr %0" : : "m"(mxcsr) : "memory");
	__asm__ __volatile__("fldcw %0" : : "m"(cw) : "memory");
}
#elif defined(__aarch64__)
WP_INLINE uint64_t wp__rounding(void)
{
	uint64_t fpcr;

	__asm__ __volatile__("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr;
}

WP_INLINE void wp__rounding_load(uint64_t words)
{
	__asm__ __volatile__("msr fpcr, %0" : : "r"(words) : "memory");
}
#endif

#endif
