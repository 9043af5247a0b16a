/* SPDX-License-Identifier: Apache-2.0
 * fiber.c - a thread and a fiber run in turn: one function runs the fiber, and one yields, as in a
 * scheduler. An operation is one switch.
 *
 *   ours      both end in the switch
 *   inline    the limit: no function, and only the registers that the loop needs are saved
 *   returns   ours, but both functions return after the switch, so the processor mispredicts the
 *             return
 *   fcontext  Boost.Context's; both functions end in it */
#include "bench.h"

#include "thread/fiber.h"

enum { BYTES = 65536 };

#define APART __attribute__((noinline, noclone))

static _Alignas(WP_LINE) char memory[BYTES];
static wp_fiber thread, fiber;

APART static uintptr_t run(uintptr_t value)
{
	return wp_fiber_switch(&thread, &fiber, value);
}

APART static uintptr_t yield(uintptr_t value)
{
	return wp_fiber_switch(&fiber, &thread, value);
}

static void yield_for_ever(void *unused)
{
	(void)unused;
	for (uintptr_t value = 0;;)
		value = yield(value + 1);
}

APART static uintptr_t run_and_return(uintptr_t value)
{
	value = wp_fiber_switch(&thread, &fiber, value);
	bench_apart();
	return value;
}

APART static uintptr_t yield_and_return(uintptr_t value)
{
	value = wp_fiber_switch(&fiber, &thread, value);
	bench_apart();
	return value;
}

static void return_for_ever(void *unused)
{
	(void)unused;
	for (uintptr_t value = 0;;)
		value = yield_and_return(value + 1);
}

static double turns(uint64_t ops, uintptr_t (*turn)(uintptr_t))
{
	double start = bench_cpu_ns();
	uintptr_t value = 0;

	for (uint64_t k = 0; k < ops; k += 2)
		value = turn(value + 1);
	if (value < ops)
		bench_fail("a switch lost its value");
	return bench_cpu_ns() - start;
}

static double ours(uint64_t ops)
{
	wp_fiber_init(&fiber, memory, BYTES, yield_for_ever, NULL);
	run(0);
	return turns(ops, run);
}

static double returns(uint64_t ops)
{
	wp_fiber_init(&fiber, memory, BYTES, return_for_ever, NULL);
	run_and_return(0);
	return turns(ops, run_and_return);
}

#if defined(__x86_64__)

typedef struct place {
	void *sp, *pc, *rbp, *rbx;
} place;

static place here, there;

BENCH_INLINE void go(place *from, place *to)
{
	__asm__ __volatile__("leaq 1f(%%rip), %%rax\n\t"
			     "movq %%rsp, (%0)\n\tmovq %%rax, 8(%0)\n\t"
			     "movq %%rbp, 16(%0)\n\tmovq %%rbx, 24(%0)\n\t"
			     "movq (%1), %%rsp\n\tmovq 16(%1), %%rbp\n\tmovq 24(%1), %%rbx\n\t"
			     "jmpq *8(%1)\n1:"
			     : "+D"(from), "+S"(to)
			     :
			     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			       "r15", "memory", "cc");
}

static void go_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		go(&there, &here);
}

static double inlined(uint64_t ops)
{
	double start;

	/* Its first instructions expect the entry at the beginning of the stack: in the first frame
	 * of a fiber, above eight words. */
	wp_fiber_init(&fiber, memory, BYTES, go_for_ever, NULL);
	there = (place){.sp = (void **)fiber.sp + 8, .pc = ((void **)fiber.sp)[7]};
	go(&here, &there);
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k += 2)
		go(&here, &there);
	return bench_cpu_ns() - start;
}

#endif

#ifdef BENCH_FCONTEXT

/* From libboost_context; its header is C++. */
typedef struct transfer {
	void *context, *data;
} transfer;

transfer jump_fcontext(void *to, void *data);
void *make_fcontext(void *top, size_t bytes, void (*entry)(transfer));

APART static transfer jump(void *to, void *data)
{
	return jump_fcontext(to, data);
}

APART static transfer jump_back(void *to, void *data)
{
	return jump_fcontext(to, data);
}

static void jump_for_ever(transfer from)
{
	for (;;)
		from = jump_back(from.context, (char *)from.data + 1);
}

static double fcontext(uint64_t ops)
{
	transfer at = {make_fcontext(memory + BYTES, BYTES, jump_for_ever), NULL};
	double start;

	at = jump(at.context, at.data);
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k += 2)
		at = jump(at.context, (char *)at.data + 1);
	return bench_cpu_ns() - start;
}

#endif

const bench_row bench_fiber[] = {
	{.name = "fiber",
	 .sides =
		 {
			 {"ours", ours},
			 {"returns", returns},
#if defined(__x86_64__)
			 {"inline", inlined},
#endif
#ifdef BENCH_FCONTEXT
			 {"fcontext", fcontext},
#endif
		 }},
	{.name = NULL},
};
