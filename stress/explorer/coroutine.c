/* SPDX-License-Identifier: Apache-2.0
 * coroutine.c - see coroutine.h. */
#include "coroutine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "program.h"

enum { GUARD = 1 << 16, CLEARED = 1 << 14, TICK_US = 500000 };

static char *pointers[EXPLORE_THREADS]; /* the stack pointer of each paused actor */
static char *engine_pointer;
static int running;
static sigjmp_buf out_of_actor;
static volatile sig_atomic_t is_running, turns, turns_at_tick;

#if defined(__x86_64__)
__asm__(".text\n.globl explore__switch\n.type explore__switch, @function\nexplore__switch:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	/* Registers that a call need not preserve get the same contents each time, because the code
	 * of an actor could keep them. */
	"	xor %eax, %eax\n	xor %ecx, %ecx\n	xor %edx, %edx\n	xor %esi, "
	"%esi\n"
	"	xor %edi, %edi\n	xor %r8d, %r8d\n	xor %r9d, %r9d\n	xor %r10d, "
	"%r10d\n"
	"	xor %r11d, %r11d\n"
	"	pxor %xmm0, %xmm0\n	pxor %xmm1, %xmm1\n	pxor %xmm2, %xmm2\n"
	"	pxor %xmm3, %xmm3\n	pxor %xmm4, %xmm4\n	pxor %xmm5, %xmm5\n"
	"	pxor %xmm6, %xmm6\n	pxor %xmm7, %xmm7\n	pxor %xmm8, %xmm8\n"
	"	pxor %xmm9, %xmm9\n	pxor %xmm10, %xmm10\n	pxor %xmm11, %xmm11\n"
	"	pxor %xmm12, %xmm12\n	pxor %xmm13, %xmm13\n	pxor %xmm14, %xmm14\n"
	"	pxor %xmm15, %xmm15\n"
	"	ret\n.size explore__switch, .-explore__switch\n");
enum { FRAME = 8 * 8, RETURN = 6 * 8 }; /* one word more: entered as if by a call */
#elif defined(__aarch64__)
__asm__(".text\n.globl explore__switch\n.type explore__switch, %function\nexplore__switch:\n"
	"	sub sp, sp, #160\n"
	"	stp x19, x20, [sp]\n	stp x21, x22, [sp, #16]\n	stp x23, x24, [sp, #32]\n"
	"	stp x25, x26, [sp, #48]\n	stp x27, x28, [sp, #64]\n	stp x29, x30, [sp, "
	"#80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n	stp d12, d13, [sp, #128]\n"
	"	stp d14, d15, [sp, #144]\n"
	"	mov x2, sp\n	str x2, [x0]\n	mov sp, x1\n"
	"	ldp x19, x20, [sp]\n	ldp x21, x22, [sp, #16]\n	ldp x23, x24, [sp, #32]\n"
	"	ldp x25, x26, [sp, #48]\n	ldp x27, x28, [sp, #64]\n	ldp x29, x30, [sp, "
	"#80]\n"
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n	ldp d12, d13, [sp, #128]\n"
	"	ldp d14, d15, [sp, #144]\n"
	"	add sp, sp, #160\n	ret\n.size explore__switch, .-explore__switch\n");
enum { FRAME = 160, RETURN = 88 };
#else
#error "the explorer runs compiled code on x86-64 and AArch64"
#endif

/* An actor that has run since the last tick, for half a second of CPU time or more, will never
 * pause. */
static void on_tick(int signal)
{
	if (is_running && turns == turns_at_tick)
		siglongjmp(out_of_actor, EXPLORE_LOOPS);
	turns_at_tick = turns;
}

explore_fault explore_last_fault;

static const void *code_at(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (const void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
	return (const void *)(uintptr_t)context->uc_mcontext.pc;
#endif
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	char *low = explore_stack_end(running) - EXPLORE_STACK, *at = info->si_addr;

	explore_last_fault = (explore_fault){signal_number, at, code_at(context)};
	if (is_running)
		siglongjmp(out_of_actor,
			   at < low && at >= low - GUARD ? EXPLORE_OVERFLOWS : EXPLORE_FAULTS);
	signal(signal_number, SIG_DFL); /* a fault of the engine itself is not hidden */
	raise(signal_number);
}

static bool is_mapped;

static bool set_tick(void)
{
	struct itimerval every = {{0, TICK_US}, {0, TICK_US}};

	return setitimer(ITIMER_VIRTUAL, &every, NULL) == 0;
}

static bool set_traps(void)
{
	static char stack[1 << 16];
	struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK},
			 tick = {.sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART};

	return sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL) == 0 &&
	       sigaction(SIGSEGV, &fault, NULL) == 0 && sigaction(SIGBUS, &fault, NULL) == 0 &&
	       sigaction(SIGFPE, &fault, NULL) == 0 && sigaction(SIGILL, &fault, NULL) == 0 &&
	       sigaction(SIGTRAP, &fault, NULL) == 0 && sigaction(SIGVTALRM, &tick, NULL) == 0 &&
	       set_tick();
}

bool explore_map(void)
{
	size_t size = EXPLORE_ARENA + EXPLORE_THREADS * (size_t)(EXPLORE_STACK + GUARD) + GUARD;
	char *at;

	if (is_mapped)
		return true;
	at = mmap(EXPLORE_BASE, size, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
	if (at != EXPLORE_BASE)
		return false;
	for (int actor = 0; actor < EXPLORE_THREADS; actor++)
		if (mprotect(explore_stack_end(actor) - EXPLORE_STACK - GUARD, GUARD, PROT_NONE))
			return false;
	is_mapped = set_traps();
	return is_mapped;
}

bool explore_after_fork(void)
{
	return !is_mapped || set_tick();
}

char *explore_stack_end(int actor)
{
	return EXPLORE_BASE + EXPLORE_ARENA + (actor + 1) * (size_t)(EXPLORE_STACK + GUARD);
}

char *explore_frame(char *end, void (*body)(void))
{
	char *frame = end - FRAME;

	memset(frame, 0, FRAME);
	memcpy(frame + RETURN, &body, sizeof(body));
	return frame;
}

void explore_begin(int actor, size_t reserve, void (*body)(void))
{
	char *end = explore_stack_end(actor);

	memset(end - EXPLORE_STACK, 0, EXPLORE_STACK);
	pointers[actor] = explore_frame(end - (reserve + 15) / 16 * 16, body);
}

enum explore_return explore_resume(int actor)
{
	int how = sigsetjmp(out_of_actor, 1);

	if (how == EXPLORE_PAUSED) {
		running = actor;
		turns++;
		is_running = 1;
		explore__switch(&engine_pointer, pointers[actor]);
	}
	is_running = 0;
	return (enum explore_return)how;
}

enum explore_return explore_alone(void (*act)(void *), void *of)
{
	int how = sigsetjmp(out_of_actor, 1);

	if (how == EXPLORE_PAUSED) {
		turns++;
		is_running = 1;
		act(of);
	}
	is_running = 0;
	return (enum explore_return)how;
}

void explore_escape(enum explore_return how)
{
	siglongjmp(out_of_actor, how);
}

void explore_pause(void)
{
	explore__switch(&pointers[running], engine_pointer);
}

const char *explore_used(int actor)
{
	return pointers[actor];
}

void explore_restore(int actor, const char *bytes, size_t size)
{
	char *at = explore_stack_end(actor) - size;

	memset(at - CLEARED, 0, CLEARED);
	memcpy(at, bytes, size);
	pointers[actor] = at;
}
