/* SPDX-License-Identifier: Apache-2.0
 * calls.c - the counting wrappers. */
#define _GNU_SOURCE
#include "calls.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "bench.h"

enum { WAITS, WAKES, OTHERS, KINDS };

static wp_atomic(uint64_t) counted[KINDS];
static uint64_t before[KINDS], each;

double calls_waits, calls_wakes, calls_all;
void (*calls_wake_instead)(void *word);

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_sched_yield(void);
int __wrap_sched_yield(void);

static int kind_of(long number, long operation)
{
	if (number != SYS_futex)
		return OTHERS;
	operation &= FUTEX_CMD_MASK;
	return operation == FUTEX_WAKE ? WAKES : operation == FUTEX_WAIT_BITSET ? WAITS : OTHERS;
}

long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];
	int kind;

	va_start(list, number);
	for (int k = 0; k < 6; k++)
		a[k] = va_arg(list, long);
	va_end(list);
	kind = kind_of(number, a[1]);
	if (kind == WAKES && calls_wake_instead != NULL) {
		calls_wake_instead((void *)a[0]);
		return 1;
	}
	wp_fetch_add_relaxed(&counted[kind], 1);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __wrap_sched_yield(void)
{
	wp_fetch_add_relaxed(&counted[OTHERS], 1);
	return __real_sched_yield();
}

void calls_begin(uint64_t operations)
{
	each = operations;
	for (int kind = 0; kind < KINDS; kind++)
		before[kind] = wp_load_relaxed(&counted[kind]);
}

void calls_end(void)
{
	double found[KINDS];

	for (int kind = 0; kind < KINDS; kind++)
		found[kind] = (double)(wp_load_relaxed(&counted[kind]) - before[kind]);
	calls_waits = found[WAITS] / (double)each;
	calls_wakes = found[WAKES] / (double)each;
	calls_all = (found[WAITS] + found[WAKES] + found[OTHERS]) / (double)each;
}
