/* SPDX-License-Identifier: Apache-2.0
 * bare.c - row 6: store buffering by two threads and nothing else, the limit of the stress engine.
 *
 * A block of states, one cache line each. Both threads meet, run their actor through a stride of
 * states, and meet again. At the end of the block each counts and zeroes half of it. There are no
 * options, no watchdog, no skew, and no table beyond four counters. `sweep` meets as often as the
 * engine does, which is what gives a sample its value. `block` meets once per block: the least that
 * any such loop can do. */
#include "bench.h"

enum { STATES = 4096, STRIDES = 4 };

/* The engine's strides, in equal shares. */
static const size_t sweep[STRIDES] = {16, 32, 64, 256},
		    block[STRIDES] = {STATES, STATES, STATES, STATES};

typedef struct bare_state {
	_Alignas(64) wp_atomic(int) x;
	wp_atomic(int) y;
} bare_state;

typedef struct bare_half {
	_Alignas(WP_LINE) wp_atomic(uint64_t) arrived;
	uint64_t meetings;
	uint64_t outcomes[4];
	_Alignas(WP_LINE) int64_t seen[STATES];
} bare_half;

typedef struct bare_loop {
	bare_state states[STATES];
	bare_half halves[2];
	uint64_t blocks;
	const size_t *strides;
} bare_loop;

static void meet(bare_loop *loop, int index)
{
	bare_half *mine = &loop->halves[index], *other = &loop->halves[1 - index];
	unsigned looks = 0, spins = 0;

	wp_store_release(&mine->arrived, ++mine->meetings);
	while (wp_load_acquire(&other->arrived) < mine->meetings)
		if (++looks > 64)
			bench_spin(&spins);
}

static void act(bare_loop *loop, int index, size_t first, size_t stride)
{
	for (size_t k = first; k < first + stride; k++) {
		bare_state *state = &loop->states[k];

		if (index == 0) {
			wp_store_relaxed(&state->x, 1);
			loop->halves[0].seen[k] = wp_load_relaxed(&state->y);
		} else {
			wp_store_relaxed(&state->y, 1);
			loop->halves[1].seen[k] = wp_load_relaxed(&state->x);
		}
	}
}

static void count(bare_loop *loop, int index)
{
	size_t first = (size_t)index * STATES / 2;

	for (size_t k = first; k < first + STATES / 2; k++) {
		int64_t outcome = loop->halves[0].seen[k] * 2 + loop->halves[1].seen[k];

		loop->halves[index].outcomes[outcome]++;
		wp_store_relaxed(&loop->states[k].x, 0);
		wp_store_relaxed(&loop->states[k].y, 0);
	}
}

static void body(void *context, int index)
{
	bare_loop *loop = context;

	for (uint64_t done = 0; done < loop->blocks; done++) {
		size_t stride = loop->strides[done % STRIDES];

		for (size_t first = 0; first < STATES; first += stride) {
			meet(loop, index);
			act(loop, index, first, stride);
		}
		meet(loop, index);
		count(loop, index);
	}
	meet(loop, index);
}

static double run_loop(const size_t *strides, uint64_t ops)
{
	static bare_loop loop;
	double ns;

	loop.blocks = (ops + STATES - 1) / STATES;
	loop.strides = strides;
	for (int k = 0; k < 2; k++) {
		wp_init(&loop.halves[k].arrived, 0);
		loop.halves[k].meetings = 0;
	}
	ns = bench_together(2, body, &loop);
	return ns * (double)ops / (double)(loop.blocks * STATES);
}

BENCH_SIDE(run_sweep, run_loop(sweep, ops))
BENCH_SIDE(run_block, run_loop(block, ops))

const bench_row bench_bare[] = {
	{.name = "bare", .sides = {{"sweep", run_sweep}, {"block", run_block}}},
	{.name = NULL},
};
