/* SPDX-License-Identifier: Apache-2.0
 * parker.c - row 4: two threads hand a turn to and fro and sleep in between, by parker and by bare
 * futex.
 *
 * The bare side is the least that is correct: a word per thread, store and wake, wait and clear.
 * System calls are counted where kernel/futex.c makes them: the program is linked with
 * --wrap=syscall. */
#include "parker.h"

#include <stdarg.h>
#include <sys/syscall.h>

#include "bench.h"
#include "error.h"
#include "futex.h"

static wp_atomic(uint64_t) calls;
static uint64_t sleeps;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];

	va_start(list, number);
	for (int k = 0; k < 6; k++)
		a[k] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex)
		wp_fetch_add_relaxed(&calls, 1);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

typedef struct parker_side {
	_Alignas(WP_LINE) wp_parker parker;
	_Alignas(WP_LINE) wp_atomic(uint32_t) word;
} parker_side;

typedef struct parker_table {
	parker_side sides[2];
	uint64_t rounds;
} parker_table;

static void with_parker(void *context, int index)
{
	parker_table *table = context;
	parker_side *mine = &table->sides[index], *other = &table->sides[1 - index];

	for (uint64_t k = 0; k < table->rounds; k++) {
		if (index == 0)
			wp_parker_unpark(&other->parker);
		if (wp_parker_park(&mine->parker) != WP_OK)
			bench_fail("a park failed");
		if (index == 1)
			wp_parker_unpark(&other->parker);
	}
}

static void bare_wake(parker_side *side)
{
	wp_store_release(&side->word, 1);
	wp_futex_wake(&side->word, 1);
}

static void bare_wait(parker_side *side)
{
	while (wp_load_acquire(&side->word) == 0)
		wp_futex_wait(&side->word, 0, WP_FOREVER);
	wp_store_relaxed(&side->word, 0);
}

static void with_futex(void *context, int index)
{
	parker_table *table = context;
	parker_side *mine = &table->sides[index], *other = &table->sides[1 - index];

	for (uint64_t k = 0; k < table->rounds; k++) {
		if (index == 0)
			bare_wake(other);
		bare_wait(mine);
		if (index == 1)
			bare_wake(other);
	}
}

static double run_pair(void (*body)(void *, int), uint64_t ops)
{
	static parker_table table;

	for (int k = 0; k < 2; k++) {
		wp_parker_init(&table.sides[k].parker);
		wp_init(&table.sides[k].word, 0);
	}
	table.rounds = ops;
	sleeps = 2 * ops;
	wp_init(&calls, 0);
	return bench_together(2, body, &table);
}

static double ours(uint64_t ops)
{
	return run_pair(with_parker, ops);
}

static double bare(uint64_t ops)
{
	return run_pair(with_futex, ops);
}

static double calls_per_handoff(void)
{
	return (double)wp_load_relaxed(&calls) / (double)sleeps;
}

const bench_row bench_parker[] = {
	{.name = "parker", .sides = {{"ours", ours}, {"futex", bare}}, .count = calls_per_handoff},
	{.name = NULL},
};
