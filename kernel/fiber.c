/* SPDX-License-Identifier: Apache-2.0
 * fiber.c - a fiber's first frame, and what sanitizers are told. Not explored: the explorer has
 * stacks of its own. */
#define _GNU_SOURCE
#include "fiber.h"

#ifndef WP_EXPLORE

#include <pthread.h>
#include <string.h>

enum { ALIGNMENT = 16 }; /* of a stack, in both ABIs */

void wp__fiber_begin(void);

/* As the switch leaves it: see fiber_*.S. */
#if defined(__x86_64__)

typedef struct frame {
	uint32_t mxcsr, cw;
	void *r12, *r13, *r14, *r15, *rbx, *rbp, *pc;
} frame;

static frame first_frame(void *r12, void *r13)
{
	frame made = {.r12 = r12, .r13 = r13};

	__asm__ __volatile__("stmxcsr %0" : "=m"(made.mxcsr));
	__asm__ __volatile__("fnstcw %0" : "=m"(made.cw));
	return made;
}

#elif defined(__aarch64__)

typedef struct frame {
	void *x19, *x20, *x21_x28[8], *x29, *pc;
	double d8_d15[8];
	uint64_t fpcr, unused;
} frame;

static frame first_frame(void *x19, void *x20)
{
	frame made = {.x19 = x19, .x20 = x20};

	__asm__ __volatile__("mrs %0, fpcr" : "=r"(made.fpcr));
	return made;
}

#else
#error "fiber: x86-64 and AArch64 only"
#endif

/* An object pointer for a function's, which ISO C does not convert. */
static void *address(void (*function)(void *))
{
	void *same;

	memcpy(&same, &function, sizeof(same));
	return same;
}

static void prepare(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	uintptr_t top = ((uintptr_t)low + bytes) & ~(uintptr_t)(ALIGNMENT - 1);
	frame *place = (frame *)top - 1, made = first_frame(address(entry), arg);
	void (*begin)(void) = wp__fiber_begin;

	memcpy(&made.pc, &begin, sizeof(made.pc));
	*place = made;
	fiber->sp = place;
}

#ifndef WP__FIBER_TOLD

void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	prepare(fiber, low, bytes, entry, arg);
}

void wp_fiber_thread(wp_fiber *fiber)
{
	fiber->sp = NULL;
}

void wp_fiber_fini(wp_fiber *fiber)
{
	(void)fiber;
}

#else

#if defined(WP__FIBER_ASAN) && !defined(WP_TWIN_fiber_untold)
void __sanitizer_start_switch_fiber(void **fake, const void *low, size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake, const void **low, size_t *bytes);
void __asan_unpoison_memory_region(const volatile void *low, size_t bytes);
#else
#define __sanitizer_start_switch_fiber(fake, low, bytes) ((void)0)
#define __sanitizer_finish_switch_fiber(fake, low, bytes) ((void)0)
#define __asan_unpoison_memory_region(low, bytes) ((void)0)
#endif
#if defined(WP__FIBER_TSAN) && !defined(WP_TWIN_fiber_untold)
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
#define __tsan_get_current_fiber() NULL
#define __tsan_create_fiber(flags) NULL
#define __tsan_destroy_fiber(fiber) ((void)0)
#define __tsan_switch_to_fiber(fiber, flags) ((void)0)
#endif

static void begin_told(void *arg)
{
	wp_fiber *fiber = arg;

	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
	fiber->entry(fiber->arg);
}

void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	*fiber = (wp_fiber){.entry = entry, .arg = arg, .low = low, .bytes = bytes};
	fiber->shadow = __tsan_create_fiber(0);
	/* Frames that the last fiber on this stack never left. */
	__asan_unpoison_memory_region(low, bytes);
	prepare(fiber, low, bytes, begin_told, fiber);
}

void wp_fiber_thread(wp_fiber *fiber)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
		pthread_attr_getstack(&attributes, &low, &bytes);
		pthread_attr_destroy(&attributes);
	}
	*fiber = (wp_fiber){.low = low, .bytes = bytes};
	fiber->shadow = __tsan_get_current_fiber();
}

void wp_fiber_fini(wp_fiber *fiber)
{
	__asan_unpoison_memory_region(fiber->low, fiber->bytes);
	__tsan_destroy_fiber(fiber->shadow);
}

uintptr_t wp_fiber_switch(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	__sanitizer_start_switch_fiber(&from->fake, to->low, to->bytes);
	__tsan_switch_to_fiber(to->shadow, 0);
	value = wp__fiber_jump(from, to, value);
	__sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
	return value;
}

void wp_fiber_leave(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	__sanitizer_start_switch_fiber(NULL, to->low, to->bytes);
	__tsan_switch_to_fiber(to->shadow, 0);
	wp__fiber_jump(from, to, value);
	__builtin_unreachable();
}

#endif
#endif
