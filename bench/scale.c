/* SPDX-License-Identifier: Apache-2.0
 * scale.c - the cost of a yield and of a hand-over among few virtual threads of a carrier, and
 * among a million.
 *
 *   conductor                          member, of as many as the row says
 *   unparks them; notes the time       parks; yields as often as it should
 *   parks                              the last one unparks the conductor
 *   or unparks the first; parks        or parks; unparks the next of the ring; parks ..
 *
 * A yield is one run of a member. In each round all members run in turn, so each finds its stack as
 * the caches have left it. A hand-over is an unpark and the park that follows. Members that a row
 * does not need stay parked. The time is the CPU time of the carrier, on which all run; what they
 * share needs no atomics.
 *
 * The limit of both is a model: as many fibers whose stacks and blocks lie as those of virtual threads
 * do, a private FIFO linked through the blocks, and the same switch. A member of the model reads
 * the link of the next one (or its place in the ring), and switches: no state, no clock, no other
 * queue. A scheduler cannot read less: where the next thread's registers are stands in its block,
 * and they stand on its stack. A hand-over of the model has one locked instruction for the unpark
 * and one for the park, because an unpark by another OS thread may come at any time. */
#include "queue/private_fifo.h"
#include "sched/vthread_stackful.h"
#include "threads.h"

enum { MILLION = 1000000 };

static wp_vthread *members[MILLION], *conductor;
static uint32_t made, many;
static uint64_t yields_each, left;
static double ns;

static int member(void *arg)
{
	uintptr_t next = (uintptr_t)arg + 1;

	for (;;) {
		wp_vthread_park_until(WP_FOREVER);
		for (uint64_t k = 0; k < yields_each; k++)
			wp_vthread_yield();
		if (--left == 0)
			wp_vthread_unpark(conductor);
		else if (yields_each == 0)
			wp_vthread_unpark(members[next < many ? next : 0]);
	}
	return 0;
}

static int conducts(void *arg)
{
	double begun;

	for (uint32_t k = 0; k < (yields_each > 0 ? many : 1); k++)
		wp_vthread_unpark(members[k]);
	begun = bench_cpu_ns();
	wp_vthread_park_until(WP_FOREVER);
	ns = bench_cpu_ns() - begun;
	return arg != NULL;
}

/* Places the first `count` members, and lets the conductor make them run `each` times, or pass a
 * turn on `runs` times. */
static double conduct(uint32_t count, uint64_t each, uint64_t runs)
{
	wp_group *group = carriers_of_one();

	for (; made < count; made++) {
		members[made] = threads_new(group, 0, member, (void *)(uintptr_t)made);
		threads_start(members[made]);
	}
	many = count;
	yields_each = each;
	left = runs;
	conductor = threads_new(group, 0, conducts, NULL);
	threads_start(conductor);
	threads_join(conductor);
	return ns;
}

static double yield_among(uint32_t most, uint64_t ops)
{
	uint32_t count = ops < most ? (uint32_t)ops : most;
	uint64_t runs = ops / count > 2 ? ops / count : 2;

	return conduct(count, runs - 1, count) * (double)ops / (double)(runs * count);
}

static double turn_among(uint32_t most, uint64_t ops)
{
	return conduct(ops < most ? (uint32_t)ops : most, 0, ops);
}

BENCH_SIDE(yield_1k, yield_among(1000, ops))
BENCH_SIDE(yield_100k, yield_among(100000, ops))
BENCH_SIDE(yield_1m, yield_among(MILLION, ops))

/* Limit: one cache line of each member; its address is known when the line before has been read. */
static double line_1m(uint64_t ops)
{
	uint32_t count = ops < MILLION ? (uint32_t)ops : MILLION;
	uint64_t at = 0;
	double begun;

	conduct(count, 1, count);
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++)
		at += 1 + (*(volatile uint64_t *)(void *)members[at % count] == UINT64_MAX);
	return bench_cpu_ns() - begun;
}

/* A member of the model. */
typedef struct model {
	wp_mpsc_node node;
	wp_fiber fiber;
	uint32_t at;
	wp_atomic(uint32_t) is_unparked;
} model;

static model *models[MILLION], *model_here;
static wp_fiber model_thread;
static wp_private_fifo model_ready;
static uint32_t models_made, models_many;
static uint64_t model_left;
static bool model_yields;

/* Switches to the next member, or back to the conductor after the last run. It is a function of its
 * own, and who runs is in a variable, so that a yield needs no register that a cold stack has
 * saved: the loads of the next turn then begin before these registers have come. */
__attribute__((noinline)) static void model_turn(uint32_t then)
{
	model *self = model_here, *next = self;

	if (!model_yields) {
		next = models[then < models_many ? then : 0];
		wp_exchange_acq_rel(&next->is_unparked, 1);
		wp_exchange_acq_rel(&self->is_unparked, 0);
	}
	wp_private_fifo_push(&model_ready, &next->node);
	next = (model *)(void *)wp_private_fifo_pop(&model_ready);
	model_here = next;
	wp_fiber_switch(&self->fiber, --model_left == 0 ? &model_thread : &next->fiber, 0);
}

static void model_runs(void *arg)
{
	uint32_t then = ((model *)arg)->at + 1; /* on its own stack, as a thread's variables are */

	for (;;)
		model_turn(then);
}

/* Makes the first `count` members, with stacks of a pool as a group's. */
static void make_models(uint32_t count)
{
	static wp_stacks *pool;
	wp_stacks_config config = {.control_bytes = sizeof(wp_body), .max_stacks = MILLION};

	if (pool == NULL && wp_stacks_new(&pool, &config) != WP_OK)
		bench_fail("no stacks");
	for (; models_made < count; models_made++) {
		wp_stack *stack = wp_stacks_take(pool, NULL);
		model *made = stack == NULL ? NULL : wp_stack_control(stack);

		if (made == NULL)
			bench_fail("no stack");
		made->at = models_made;
		wp_fiber_init(&made->fiber, stack->low, wp_stack_bytes(stack), model_runs, made);
		models[models_made] = made;
	}
}

static double model_among(uint32_t most, bool yields, uint64_t ops)
{
	uint32_t count = ops < most ? (uint32_t)ops : most;
	uint64_t runs = !yields ? ops : ops / count > 2 ? ops / count * count : 2 * (uint64_t)count;
	double begun;

	make_models(count);
	models_many = count;
	model_yields = yields;
	model_left = runs;
	model_ready = (wp_private_fifo){NULL, NULL};
	for (uint32_t k = 1; yields && k < count; k++)
		wp_private_fifo_push(&model_ready, &models[k]->node);
	wp_fiber_thread(&model_thread);
	model_here = models[0];
	begun = bench_cpu_ns();
	wp_fiber_switch(&model_thread, &models[0]->fiber, 0);
	return (bench_cpu_ns() - begun) * (double)ops / (double)runs;
}

BENCH_SIDE(yield_model_1k, model_among(1000, true, ops))
BENCH_SIDE(yield_model_100k, model_among(100000, true, ops))
BENCH_SIDE(yield_model_1m, model_among(MILLION, true, ops))
BENCH_SIDE(turn_model_1k, model_among(1000, false, ops))
BENCH_SIDE(turn_model_100k, model_among(100000, false, ops))
BENCH_SIDE(turn_model_1m, model_among(MILLION, false, ops))

BENCH_SIDE(yield_2, yield_among(2, ops))
BENCH_SIDE(turn_2, turn_among(2, ops))
BENCH_SIDE(turn_1k, turn_among(1000, ops))
BENCH_SIDE(turn_100k, turn_among(100000, ops))
BENCH_SIDE(turn_1m, turn_among(MILLION, ops))

const bench_row bench_scale[] = {
	{.name = "scale_yield",
	 .sides = {{"2", yield_2},
		   {"1k", yield_1k},
		   {"100k", yield_100k},
		   {"1m", yield_1m},
		   {"model_1k", yield_model_1k},
		   {"model_100k", yield_model_100k},
		   {"model_1m", yield_model_1m},
		   {"line", line_1m}}},
	{.name = "scale_turn",
	 .sides = {{"2", turn_2},
		   {"1k", turn_1k},
		   {"100k", turn_100k},
		   {"1m", turn_1m},
		   {"model_1k", turn_model_1k},
		   {"model_100k", turn_model_100k},
		   {"model_1m", turn_model_1m}}},
	{.name = NULL},
};
