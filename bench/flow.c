/* SPDX-License-Identifier: Apache-2.0
 * flow.c - row 2: producers to one consumer that is awake, through one queue.
 *
 *   producer k                                   consumer
 *   waits for room in its window of tasks        takes until the queue is empty, checks the order
 *   pushes a batch, one task at a time           reports to each producer what was taken
 *
 * Why it works  Windows keep every queue equally deep, and the tasks in the caches. The consumer
 *               has a CPU to itself and the producers share the others, on all sides alike. The
 *               order check makes the loss of a task visible, at one comparison per task. Tasks lie
 *               side by side, as a slab hands them out; `scattered` shows what a pointer chase
 *               costs instead. */
#include "bench.h"
#include "task.h"

#include <stdlib.h>

enum { PRODUCERS = 4, WINDOW = 1024, BATCH = 16, TAKE = 32 };

/* Pauses of a few hundred nanoseconds in all. A carrier that finds its queue empty looks at its
 * poller and its inbox before it looks again. Without the pauses the side with the faster consumer
 * competes with the producers for the last node, and the rest of the queue is not measured. */
enum { ELSEWHERE = 8 };

/* Tasks from one to the next. Odd, so that a window is used up before a task comes again. */
enum { SIDE_BY_SIDE = 1, SCATTERED = 397 };

/* One producer's part of the flow, on cache lines of its own. The consumer writes `taken`. */
typedef struct flow_lane {
	_Alignas(WP_LINE) wp_atomic(uint64_t) taken;
	uint64_t seen;
	_Alignas(WP_LINE) bench_task tasks[WINDOW];
} flow_lane;

typedef struct flow_run {
	const flow_queue *kind;
	void *queue;
	int producers;
	uint64_t each, step; /* tasks per producer, in whole batches; from task to task */
	flow_lane *lanes;
} flow_run;

static void produce(flow_run *flow, int producer)
{
	flow_lane *lane = &flow->lanes[producer];
	unsigned spins = 0;

	for (uint64_t sent = 0; sent < flow->each; sent += BATCH) {
		bench_task *tasks[BATCH];

		for (; sent + BATCH - wp_load_acquire(&lane->taken) > WINDOW; bench_spin(&spins))
			continue;
		spins = 0;
		for (uint64_t k = 0; k < BATCH; k++) {
			tasks[k] = &lane->tasks[(sent + k) * flow->step % WINDOW];
			tasks[k]->number = sent + k;
			tasks[k]->producer = (uint64_t)producer;
		}
		flow->kind->produce(flow->queue, producer, tasks, BATCH);
	}
	flow->kind->produce(flow->queue, producer, NULL, 0);
}

static void consume(flow_run *flow)
{
	flow_consume *take = flow->kind->consume[bench_round % FLOW_PLACES];
	uint64_t left = flow->each * (uint64_t)flow->producers;
	bench_task *tasks[TAKE];
	unsigned spins = 0;

	while (left > 0) {
		size_t count = take(flow->queue, tasks, TAKE);

		if (count == 0) {
			for (int k = 0; k < ELSEWHERE; k++)
				bench_spin(&spins);
			continue;
		}
		spins = 0;
		left -= count;
		for (size_t k = 0; k < count; k++) {
			flow_lane *lane = &flow->lanes[tasks[k]->producer];

			if (tasks[k]->number != lane->seen++)
				bench_fail("a queue lost a task or its order");
		}
		for (int p = 0; p < flow->producers; p++)
			wp_store_release(&flow->lanes[p].taken, flow->lanes[p].seen);
	}
}

static void body(void *context, int index)
{
	if (index == 0)
		consume(context);
	else
		produce(context, index - 1);
}

static double run_flow(const flow_queue *kind, int producers, uint64_t step, uint64_t ops)
{
	static flow_lane lanes[PRODUCERS];
	uint64_t each = (ops / (uint64_t)producers + BATCH - 1) / BATCH * BATCH;
	flow_run flow = {
		.kind = kind, .producers = producers, .each = each, .step = step, .lanes = lanes};
	double ns;

	flow.queue = kind->make(producers);
	if (flow.queue == NULL)
		bench_fail("no memory for a queue");
	for (int p = 0; p < producers; p++) {
		wp_init(&lanes[p].taken, 0);
		lanes[p].seen = 0;
	}
	ns = bench_together(producers + 1, body, &flow);
	kind->fini(flow.queue);
	return ns;
}

#define SIDE(what, producers, step, name) \
	BENCH_SIDE(name, run_flow(&flow_##what, producers, step, ops))
#define SIDES(what)                           \
	SIDE(what, 1, SIDE_BY_SIDE, what##_1) \
	SIDE(what, 2, SIDE_BY_SIDE, what##_2) \
	SIDE(what, 4, SIDE_BY_SIDE, what##_4) \
	SIDE(what, 1, SCATTERED, what##_scattered)

SIDES(ours)
SIDES(many)
SIDES(vyukov)
#ifdef BENCH_MOODYCAMEL
SIDES(moodycamel)
SIDES(bulk)
#define MOODYCAMEL(producers) {"moodycamel", moodycamel_##producers}, {"bulk", bulk_##producers},
#else
#define MOODYCAMEL(producers)
#endif
SIDE(chain, 1, SIDE_BY_SIDE, chain)
SIDE(packed, 1, SIDE_BY_SIDE, packed)
SIDE(fenced, 1, SIDE_BY_SIDE, fenced)
SIDE(symmetric, 1, SIDE_BY_SIDE, symmetric)
SIDE(asymmetric, 1, SIDE_BY_SIDE, asymmetric)

#define ROW(producers, ...)                                   \
	{                                                     \
		.name = "flow_" #producers,                   \
		.sides = {{"ours", ours_##producers},         \
			  {"many", many_##producers},         \
			  {"vyukov", vyukov_##producers},     \
			  MOODYCAMEL(producers) __VA_ARGS__}, \
	}

const bench_row bench_flow[] = {
	ROW(1, {"chain", chain}),
	ROW(2),
	ROW(4),
	ROW(scattered),
	{.name = "layout_queue", .sides = {{"ours", ours_1}, {"packed", packed}}},
	{.name = "submit_awake",
	 .sides = {{"symmetric", symmetric},
		   {"fenced", fenced},
		   {"asymmetric", asymmetric},
		   {"plain", ours_1}}},
	{.name = NULL},
};
