/* SPDX-License-Identifier: Apache-2.0
 * fiber.c - a fiber's first frame, and the calls that announce switches to sanitizers. Not
 * explored: the explorer has stacks of its own. */
#define _GNU_SOURCE
#include "thread/fiber.h"

#include <pthread.h>

enum { ALIGNMENT = 16 }; /* of a stack, in both ABIs */
#ifdef __x86_64__
enum { NOP = 1 }; /* bytes */
#else
enum { NOP = 4 };
#endif

void wp__fiber_begin(void);

/* A stack as the switch leaves it (see fiber_*.S), and below that the words that wp__fiber_begin
 * pops. */
typedef struct frame {
#if defined(__x86_64__)
	uint64_t unused;
	void *r12_rbp[6];
	uintptr_t pc;
#elif defined(__aarch64__)
	void *x19_x29[11];
	uintptr_t pc;
	double d8_d15[8];
	uint64_t unused[2];
#else
#error "fiber: x86-64 and AArch64 only"
#endif
	void (*entry)(void *arg);
	void *arg;
} frame;

_Static_assert(sizeof(frame) % ALIGNMENT == 0, "the entry is called on an aligned stack");

static void prepare(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	uintptr_t top = ((uintptr_t)low + bytes) & ~(uintptr_t)(ALIGNMENT - 1);
	frame *first = (frame *)top - 1;

	*first = (frame){.pc = (uintptr_t)wp__fiber_begin + NOP, .entry = entry, .arg = arg};
	fiber->sp = first;
}

#ifndef WP__FIBER_TOLD

void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	prepare(fiber, low, bytes, entry, arg);
}

#else

#if defined(WP__FIBER_ASAN)
void __sanitizer_start_switch_fiber(void **fake, const void *low, size_t bytes);
void __sanitizer_finish_switch_fiber(void *fake, const void **low, size_t *bytes);
void __asan_unpoison_memory_region(const volatile void *low, size_t bytes);
#else
#define __sanitizer_start_switch_fiber(fake, low, bytes) ((void)(low))
#define __sanitizer_finish_switch_fiber(fake, low, bytes) ((void)0)
#define __asan_unpoison_memory_region(low, bytes) ((void)0)
#endif
#if defined(WP__FIBER_TSAN)
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
#define __tsan_get_current_fiber() NULL
#define __tsan_create_fiber(flags) NULL
#define __tsan_destroy_fiber(fiber) ((void)(fiber))
#define __tsan_switch_to_fiber(fiber, flags) ((void)(fiber))
#endif

static void begin_told(void *arg)
{
	wp_fiber *fiber = arg;

	__sanitizer_finish_switch_fiber(fiber->fake, NULL, NULL);
	fiber->entry(fiber->arg);
}

void wp_fiber_init(wp_fiber *fiber, void *low, size_t bytes, void (*entry)(void *), void *arg)
{
	*fiber = (wp_fiber){.entry = entry, .arg = arg, .low = low, .bytes = bytes};
	fiber->shadow = __tsan_create_fiber(0);
	/* The last fiber on this stack may have left frames that never returned. */
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
	value = wp__fiber_jump(from, to, value, NULL, NULL);
	__sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
	return value;
}

typedef struct call {
	wp_fiber *to;
	void (*then)(void *arg);
	void *arg;
} call;

/* Runs inside `to`. So AddressSanitizer gets two calls: the first ends the switch, and the second
 * begins another one, from `to` to itself. */
__attribute__((no_sanitize("address"))) static void call_told(void *arg)
{
	call now = *(const call *)arg; /* it lies on the stack that was left */

	__sanitizer_finish_switch_fiber(now.to->fake, NULL, NULL);
	now.then(now.arg);
	__sanitizer_start_switch_fiber(&now.to->fake, now.to->low, now.to->bytes);
}

uintptr_t wp_fiber_switch_then(wp_fiber *from, wp_fiber *to, uintptr_t value,
			       void (*then)(void *arg), void *arg)
{
	call now = {to, then, arg};

	__sanitizer_start_switch_fiber(&from->fake, to->low, to->bytes);
	__tsan_switch_to_fiber(to->shadow, 0);
	value = wp__fiber_jump(from, to, value, call_told, &now);
	__sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
	return value;
}

void wp_fiber_leave_then(wp_fiber *from, wp_fiber *to, uintptr_t value, void (*then)(void *arg),
			 void *arg)
{
	call now = {to, then, arg};

	__sanitizer_start_switch_fiber(NULL, to->low, to->bytes);
	__tsan_switch_to_fiber(to->shadow, 0);
	wp__fiber_jump(from, to, value, call_told, &now);
	__builtin_unreachable();
}

void wp_fiber_leave(wp_fiber *from, wp_fiber *to, uintptr_t value)
{
	__sanitizer_start_switch_fiber(NULL, to->low, to->bytes);
	__tsan_switch_to_fiber(to->shadow, 0);
	wp__fiber_jump(from, to, value, NULL, NULL);
	__builtin_unreachable();
}

#endif
