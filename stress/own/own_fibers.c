/* SPDX-License-Identifier: Apache-2.0
 * own_fibers.c - threads as fibers of one OS thread: each has a stack and a block of thread-local
 * storage of its own, at an address that is the same in each run.
 *
 *   slot of a thread   heap | guard | stack | guard | thread-local storage, control block
 *
 * Why it works  The C library finds errno, thread_local variables and the like by the register that
 *               points to the control block. A switch of fibers changes that register as well.
 *               A position covers the live stack, with the frames of the runtime that is about to
 *               pause. What these do not use would keep what other calls have left there. So each
 *               function that the program calls is entered through own_clean, which zeroes the
 *               stack below (build.py writes the entries).
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "coroutine.h"
#include "own.h"

#if !defined(__x86_64__)
#error "programs with threads of their own are explored on x86-64"
#endif

enum {
	GUARD = 1 << 16,
	STACK_AT = 3 << 20, /* in the slot */
	TLS_AT = STACK_AT + OWN_STACK + GUARD,
	TLS_ROOM = 1 << 16, /* below the control block, and above it */
	CLEARED = 8192,     /* bytes of stack that are zeroed below the lowest one used */
	TICK_US = 500000,
	SELF = 0x10, /* in the control block, as the next two */
	CANARY = 0x28,
	POINTER_GUARD = 0x30,
	WORD = 8,
};

own_fiber own_fibers[EXPLORE_THREADS];
own_fiber *own_now;
bool own_has_arena;

static char *engine_pointer;
static unsigned long engine_tcb;
static size_t tls_size;
static char tls_image[TLS_ROOM];
static sigjmp_buf out_of_fiber;
static volatile sig_atomic_t turns, turns_at_tick;
static struct {
	int signal;
	const void *address, *code;
} fault;

/* Exported by the dynamic linker and the C library for libraries of their own. */
extern void *_dl_allocate_tls(void *control_block);
extern void __ctype_init(void);

/* Changes no register that may hold an argument. */
#define CLEAN(name, size)                                \
	__asm__(".text\n"                                \
		".globl " name "\n"                      \
		".type " name ", @function\n" name ":\n" \
		"pxor %xmm15, %xmm15\n"                  \
		"lea -" size "(%rsp), %r11\n"            \
		"1: movups %xmm15, (%r11)\n"             \
		"movups %xmm15, 16(%r11)\n"              \
		"movups %xmm15, 32(%r11)\n"              \
		"movups %xmm15, 48(%r11)\n"              \
		"add $64, %r11\n"                        \
		"cmp %rsp, %r11\n"                       \
		"jb 1b\n"                                \
		"ret\n")
CLEAN("own_clean", "2048");
CLEAN("own_clean_little", "512");

__attribute__((target("fsgsbase"))) static void set_tcb(unsigned long tcb)
{
	__builtin_ia32_wrfsbase64(tcb);
}

__attribute__((target("fsgsbase"))) static unsigned long get_tcb(void)
{
	return __builtin_ia32_rdfsbase64();
}

size_t own_tls_size(void)
{
	return tls_size;
}

const char *own_tls_image(const char *at)
{
	ptrdiff_t offset = (at - OWN_BASE) % OWN_SLOT - (TLS_AT + TLS_ROOM) + (ptrdiff_t)tls_size;

	return offset >= 0 && offset < (ptrdiff_t)tls_size ? tls_image + offset : NULL;
}

/* Thread-local storage lies below the control block; the farthest module says how much. */
static int measure(struct dl_phdr_info *info, size_t size, void *unused)
{
	unsigned long at = (unsigned long)(uintptr_t)info->dlpi_tls_data;

	if (at && at < engine_tcb && engine_tcb - at < TLS_ROOM && engine_tcb - at > tls_size)
		tls_size = engine_tcb - at;
	return 0;
}

static bool make_tls(own_fiber *fiber)
{
	char *tcb = fiber->tcb;

	if (!_dl_allocate_tls(tcb))
		return false;
	memcpy(tcb, &tcb, WORD);
	memcpy(tcb + SELF, &tcb, WORD);
	memcpy(tcb + CANARY, (char *)(uintptr_t)engine_tcb + CANARY, WORD);
	memcpy(tcb + POINTER_GUARD, (char *)(uintptr_t)engine_tcb + POINTER_GUARD, WORD);
	set_tcb((unsigned long)(uintptr_t)tcb);
	__ctype_init();
	set_tcb(engine_tcb);
	memcpy(tls_image, tcb - tls_size, tls_size);
	return true;
}

/* A fiber that has run since the last tick, for half a second of CPU time or more, will never
 * pause. */
static void on_tick(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *where = context;

	fault.code = (const void *)(uintptr_t)where->uc_mcontext.gregs[REG_RIP];
	if (own_now && turns == turns_at_tick)
		siglongjmp(out_of_fiber, EXPLORE_LOOPS);
	turns_at_tick = turns;
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	const ucontext_t *where = context;
	char *at = info->si_addr, *low = own_now ? own_now->stack_end - OWN_STACK : NULL;

	fault.signal = signal_number;
	fault.address = at;
	fault.code = (const void *)(uintptr_t)where->uc_mcontext.gregs[REG_RIP];
	if (own_now)
		siglongjmp(out_of_fiber,
			   at < low && at >= low - GUARD ? EXPLORE_OVERFLOWS : EXPLORE_FAULTS);
	signal(signal_number, SIG_DFL); /* a fault of the engine itself is not hidden */
	raise(signal_number);
}

static bool set_traps(void)
{
	static char stack[1 << 16];
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
	struct sigaction on = {.sa_sigaction = on_fault,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER},
			 tick = {.sa_sigaction = on_tick,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER};
	struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
	bool is_set = sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL) == 0;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		is_set &= sigaction(faults[i], &on, NULL) == 0;
	return is_set && sigaction(SIGVTALRM, &tick, NULL) == 0 &&
	       setitimer(ITIMER_VIRTUAL, &every, NULL) == 0;
}

/* Before the constructors of the program, which may allocate memory. */
__attribute__((constructor)) static void map_arena(void)
{
	own_has_arena = mmap(OWN_BASE, (size_t)EXPLORE_THREADS * OWN_SLOT, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1,
			     0) == OWN_BASE;
}

bool own_make_fibers(void)
{
	if (!own_has_arena)
		return false;
	engine_tcb = get_tcb();
	dl_iterate_phdr(measure, NULL);
	return set_traps();
}

/* When it begins for the first time: most programs have few threads. */
static bool make_fiber(own_fiber *fiber)
{
	char *slot = OWN_BASE + (size_t)(fiber - own_fibers) * OWN_SLOT;

	fiber->stack_end = fiber->lowest = slot + STACK_AT + OWN_STACK;
	fiber->tcb = slot + TLS_AT + TLS_ROOM;
	return !mprotect(slot + STACK_AT - GUARD, GUARD, PROT_NONE) &&
	       !mprotect(slot + STACK_AT + OWN_STACK, GUARD, PROT_NONE) && make_tls(fiber);
}

static void enter(void)
{
	if (own_now == own_fibers) {
		int count = 0, code;

		while (own_arguments[count])
			count++;
		code = own_main(count, own_arguments, environ);
		own_end_thread((void *)(intptr_t)code, own_fibers[0].stack_end);
	}
	own_end_thread(own_start(own_given), NULL);
}

void own_begin(own_fiber *fiber)
{
	char *low, *bottom;

	if (!fiber->tcb && !make_fiber(fiber))
		abort();
	low = fiber->lowest - CLEARED;
	bottom = fiber->stack_end - OWN_STACK;
	low = low < bottom ? bottom : low;
	memset(low, 0, (size_t)(fiber->stack_end - low));
	memcpy(fiber->tcb - tls_size, tls_image, tls_size);
	fiber->pointer = explore_frame(fiber->stack_end - 64, enter);
	fiber->creates = fiber->keys_created = fiber->files_made = 0;
	fiber->writes = (own_digest){0};
	fiber->pending_count = 0;
	fiber->clock_ns = 0;
	fiber->printed_size = fiber->said_size = 0;
	fiber->heap_state = 0;
	fiber->history_size = 0;
	fiber->returns = 0;
	fiber->ends_count = 0;
	fiber->exits_count = 0;
	fiber->spin_at = NULL;
	fiber->awaits_count = 0;
	fiber->is_awaiting = false;
	fiber->again = NULL;
	fiber->segment = 0;
	memset(&fiber->clock, 0, sizeof(fiber->clock));
	memset(fiber->keys, 0, sizeof(fiber->keys));
}

/* The fiber cannot be resumed where it stands. */
static void fail(own_fiber *fiber, const char *text)
{
	fiber->asked = (explore_step){
		.kind = EXPLORE_FAIL, .location = OWN_NOTHING, .is_crash = true, .text = text};
	fiber->asked.site = own_site((const char *)fault.code + 1, "crash");
}

/* Where the program is, or where it called the runtime. */
static const void *code_of_program(void)
{
	const char *code = fault.code;

	return (uintptr_t)code < OWN_CODE_END ? code + 1 : own_last;
}

static bool come_back(own_fiber *fiber, int how)
{
	set_tcb(engine_tcb);
	own_now = NULL;
	if (how == EXPLORE_LOOPS)
		own_refuse("thread %d loops for ever at #%lx, without a step that another thread "
			   "could see%s",
			   (int)(fiber - own_fibers), (unsigned long)(uintptr_t)code_of_program(),
			   own_has_volatile && !own_volatile_is_relaxed
				   ? ": in C11 a volatile access is none; "
				     "--volatile relaxed takes it as an atomic one"
				   : "");
	else if (how == EXPLORE_OVERFLOWS)
		own_refuse("thread %d overflows its stack of %d bytes", (int)(fiber - own_fibers),
			   OWN_STACK);
	else if (fault.signal == SIGSEGV || fault.signal == SIGBUS)
		fail(fiber, own_text("touches memory that is not there, at 0x%lx",
				     (unsigned long)(uintptr_t)fault.address));
	else
		fail(fiber, fault.signal == SIGFPE   ? "divides by zero, or by too little (SIGFPE)"
			    : fault.signal == SIGILL ? "executes what is no instruction (SIGILL)"
						     : "traps (SIGTRAP)");
	return how == EXPLORE_FAULTS;
}

bool own_resume(own_fiber *fiber)
{
	int how = sigsetjmp(out_of_fiber, 0);

	if (how != EXPLORE_PAUSED)
		return come_back(fiber, how);
	turns++;
	own_now = fiber;
	set_tcb((unsigned long)(uintptr_t)fiber->tcb);
	explore__switch(&engine_pointer, fiber->pointer);
	if (fiber->pointer < fiber->lowest)
		fiber->lowest = fiber->pointer;
	return true;
}

void own_pause(void)
{
	own_fiber *fiber = own_now;

	own_now = NULL;
	set_tcb(engine_tcb);
	explore__switch(&fiber->pointer, engine_pointer);
}
