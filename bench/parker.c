/* SPDX-License-Identifier: Apache-2.0
 * parker.c - row 4: two threads hand a turn to and fro and sleep in between, by a parker and by a
 * bare futex.
 *
 * The bare side is the least that is correct: one word per thread, store and wake, wait and
 * clear. */
#include "wakeup/parker.h"

#include "bench.h"
#include "calls.h"
#include "carriers.h"
#include "base/error.h"
#include "base/futex.h"

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
	double ns;

	for (int k = 0; k < 2; k++) {
		wp_parker_init(&table.sides[k].parker);
		wp_init(&table.sides[k].word, 0);
	}
	table.rounds = ops;
	calls_begin(2 * ops);
	ns = bench_together(2, body, &table);
	calls_end();
	return ns;
}

BENCH_SIDE(ours, run_pair(with_parker, ops))

double bench_bare_futex(uint64_t ops)
{
	return run_pair(with_futex, ops);
}

const bench_row bench_parker[] = {
	{.name = "parker",
	 .sides = {{"ours", ours}, {"futex", bench_bare_futex}},
	 .counts = {{"calls", &calls_all}}},
	{.name = NULL},
};
