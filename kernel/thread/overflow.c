/* SPDX-License-Identifier: Apache-2.0
 * overflow.c - the signal handler, the alternate stacks, and the list of pools. Not explored: it
 * makes system calls and handles signals. */
#define _GNU_SOURCE
#include "thread/overflow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/error.h"

enum {
	HANDLER_BYTES = 65536, /* of an alternate stack, beside the size of a signal frame */
	NAME = 200,            /* bytes of a name that are shown */
	LINE = 320,
	SIGNALS = 2,
};

static const int signals[SIGNALS] = {SIGSEGV, SIGBUS};

/* Changes only under the lock, which is held with these signals blocked. */
static struct {
	wp_lock lock;
	uint32_t watchers;
	bool is_ours; /* the handler, or a later handler that may pass on to it */
	wp_stacks *pools;
	struct sigaction before[SIGNALS];
} process;

static void enter_critical(sigset_t *before)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	for (int k = 0; k < SIGNALS; k++)
		sigaddset(&blocked, signals[k]);
	pthread_sigmask(SIG_BLOCK, &blocked, before);
	wp_lock_acquire(&process.lock);
}

static void leave_critical(const sigset_t *before)
{
	wp_lock_release(&process.lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

void wp__overflow_enter(wp_stacks *pool)
{
	sigset_t before;

	enter_critical(&before);
	pool->next = process.pools;
	pool->back = &process.pools;
	if (pool->next != NULL)
		pool->next->back = &pool->next;
	process.pools = pool;
	leave_critical(&before);
}

void wp__overflow_leave(wp_stacks *pool)
{
	sigset_t before;

	enter_critical(&before);
	*pool->back = pool->next;
	if (pool->next != NULL)
		pool->next->back = pool->back;
	leave_critical(&before);
}

static size_t append(char *line, size_t at, const char *text, size_t most)
{
	size_t length = strnlen(text, most < LINE - at ? most : LINE - at);

	memcpy(line + at, text, length);
	return at + length;
}

static size_t append_number(char *line, size_t at, uint64_t number)
{
	char digits[21], *first = &digits[20];

	*first = '\0';
	do
		*--first = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	return append(line, at, first, sizeof(digits));
}

void wp__overflow_report(const wp_stack *stack)
{
	const wp_stacks *pool = stack->pool;
	const char *name = pool->name != NULL ? pool->name((void *)(uintptr_t)(stack + 1)) : NULL;
	char line[LINE];
	size_t at = append(line, 0, "wakeproof: stack overflow in virtual thread \"", LINE);

	at = append(line, at, name != NULL ? name : "?", NAME);
	at = append(line, at, "\" (", LINE);
	at = append_number(line, at, pool->stack_bytes / 1024);
	at = append(line, at, " KiB; give it a larger stack)\n", LINE);
	(void)!write(STDERR_FILENO, line, at);
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
	return (uintptr_t)context->uc_mcontext.sp;
#endif
}

/* Returns the stack of this pool that overflowed, or NULL if the access was not an overflow. The
 * address must be in the stack's guard, and `sp` in the slot of the stack, or below it after a
 * large frame. */
static wp_stack *overflowed(const wp_stacks *pool, uintptr_t address, uintptr_t sp)
{
	uintptr_t base = (uintptr_t)pool->base, number = (address - base) / pool->slot_bytes;
	uintptr_t slot = base + number * pool->slot_bytes;

	if (address < base || address >= base + pool->bytes ||
	    address >= slot + pool->guard_bytes || sp < base || sp >= slot + pool->slot_bytes ||
	    sp + pool->slot_bytes < slot)
		return NULL;
	return wp_stack_of(wp_stacks_slot(pool, (uint32_t)number));
}

static wp_stack *find(uintptr_t address, uintptr_t sp)
{
	wp_stack *found = NULL;

	wp_lock_acquire(&process.lock);
	for (wp_stacks *pool = process.pools; pool != NULL && found == NULL; pool = pool->next)
		found = overflowed(pool, address, sp);
	wp_lock_release(&process.lock);
	return found;
}

/* Restores the default action of the signal, after the report or after a fault that no stack
 * explains. The faulting instruction then runs again, and the process dies. If another process sent
 * the signal, it is sent again. */
static void die_of(int signal, const siginfo_t *info)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	sigaction(signal, &standard, NULL);
	if (info->si_code <= 0)
		raise(signal);
}

static void pass_on(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *before = &process.before[signal == signals[1]];

	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(signal, info, context);
	else if (before->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	else if (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)
		die_of(signal, info);
	else
		before->sa_handler(signal);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	wp_stack *stack = NULL;
	int error = errno;

	if (info->si_code > 0)
		stack = find((uintptr_t)info->si_addr, stack_pointer(context));
	errno = error;
	if (stack == NULL) {
		pass_on(signal, info, context);
		return;
	}
	wp__overflow_report(stack);
	die_of(signal, info);
}

static void take_signals(void)
{
	struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (process.is_ours)
		return;
	process.is_ours = true;
	sigemptyset(&ours.sa_mask);
	for (int k = 0; k < SIGNALS; k++)
		sigaddset(&ours.sa_mask, signals[k]);
	for (int k = 0; k < SIGNALS; k++)
		sigaction(signals[k], &ours, &process.before[k]);
}

/* Does nothing if another handler was set since, because that handler may call ours. */
static void give_signals_back(void)
{
	struct sigaction now;

	for (int k = 0; k < SIGNALS; k++)
		if (sigaction(signals[k], NULL, &now) != 0 || !(now.sa_flags & SA_SIGINFO) ||
		    now.sa_sigaction != on_fault)
			return;
	for (int k = 0; k < SIGNALS; k++)
		sigaction(signals[k], &process.before[k], NULL);
	process.is_ours = false;
}

static void count_watchers(uint32_t change)
{
	sigset_t before;

	enter_critical(&before);
	if (process.watchers == 0)
		take_signals();
	process.watchers += change;
	if (process.watchers == 0)
		give_signals_back();
	leave_critical(&before);
}

int wp_stack_watch_begin(wp_stack_watch *watch)
{
	long least = sysconf(_SC_MINSIGSTKSZ);
	stack_t ours = {0}, before;

	watch->bytes = HANDLER_BYTES + (least > 0 ? (size_t)least : 0);
	watch->memory = mmap(NULL, watch->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (watch->memory == MAP_FAILED)
		return WP_SYSTEM;
	ours.ss_sp = watch->memory;
	ours.ss_size = watch->bytes;
	if (sigaltstack(&ours, &before) != 0) {
		munmap(watch->memory, watch->bytes);
		return WP_SYSTEM;
	}
	watch->before = before.ss_sp;
	watch->before_bytes = before.ss_size;
	watch->before_flags = before.ss_flags & SS_DISABLE;
	count_watchers(1);
	return WP_OK;
}

void wp_stack_watch_end(wp_stack_watch *watch)
{
	stack_t before = {.ss_sp = watch->before,
			  .ss_flags = watch->before_flags,
			  .ss_size = watch->before_bytes};

	count_watchers(-1u);
	sigaltstack(&before, NULL);
	munmap(watch->memory, watch->bytes);
}
