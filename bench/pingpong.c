/* SPDX-License-Identifier: Apache-2.0
 * pingpong.c - one task on each of two carriers unparks the other's, with carriers that sleep in
 * between, or stay awake.
 *
 * It is timed and counted from the first serve to the last return, by the carrier that serves. Each
 * step records on which carrier it runs. Awake: each carrier also has a task that yields for ever,
 * so it never sleeps. The limit is two threads that spin on one word each. */
#include "calls.h"
#include "carriers.h"
#include "base/futex.h"

/* On cache lines of their own, as tasks that their carriers allocate would be. */
typedef struct player {
	_Alignas(WP_LINE) wp_task task;
	struct player *other;
	uint64_t turns;
	uint64_t strays; /* steps on another carrier than its home */
} player;

typedef struct idler {
	_Alignas(WP_LINE) wp_task task;
	uint64_t turns;
	bool has_started;
} idler;

static player players[2]; /* by carrier; player 0 serves */
static idler idlers[2];
static wp_group *group;
static uint64_t games;
static double start_ns, took_ns;
static double strays; /* of the steps of the latest game */
static _Alignas(WP_LINE) wp_atomic(uint32_t) is_over;
static _Alignas(WP_LINE) wp_atomic(uint32_t) waiting, awake_count;

static void count_stray(player *self)
{
	self->strays += wp_group_running(group) != (int)(self - players);
}

static enum wp_step serve(wp_task *task)
{
	player *self = (player *)(void *)task;

	count_stray(self);
	if (self->turns == 0) {
		calls_begin(2 * games);
		start_ns = bench_clock_ns();
	}
	if (self->turns++ == games) {
		took_ns = bench_clock_ns() - start_ns;
		calls_end();
		wp_store_relaxed(&is_over, 1);
	}
	wp_task_unpark(&self->other->task); /* after the last turn, so that the other one ends */
	return self->turns > games ? WP_STEP_DONE : WP_STEP_PARK;
}

static enum wp_step give_back(wp_task *task)
{
	player *self = (player *)(void *)task;
	uint64_t turn = self->turns++;

	count_stray(self);
	if (turn > games)
		return WP_STEP_DONE;
	if (turn == 0)
		carriers_count(&waiting);
	else
		wp_task_unpark(&self->other->task);
	return WP_STEP_PARK;
}

static void start(uint32_t index, wp_task *task, enum wp_step (*step)(wp_task *), bool is_pinned)
{
	wp_task_init(task, step, NULL);
	task->is_pinned = is_pinned;
	task->ended = carriers_count_end;
	carriers_start(group, index, task);
}

/* The first idler starts the game when both carriers are awake. The program's own thread would wait
 * too long for a CPU. */
static enum wp_step idle(wp_task *task)
{
	idler *self = (idler *)(void *)task;

	if (self->turns++ == 0)
		wp_fetch_add_release(&awake_count, 1);
	if (self == &idlers[0] && !self->has_started && wp_load_acquire(&awake_count) == 2) {
		self->has_started = true;
		start(0, &players[0].task, serve, players[0].task.is_pinned);
	}
	wp_pause(); /* as in any waiting loop */
	return wp_load_relaxed(&is_over) != 0 ? WP_STEP_DONE : WP_STEP_YIELD;
}

static double play(bool stealing, bool is_pinned, bool is_awake, uint64_t ops)
{
	long before;

	group = carriers_of_two(stealing);
	games = ops;
	wp_init(&carriers_ended, 0);
	wp_init(&is_over, 0);
	wp_init(&waiting, 0);
	wp_init(&awake_count, 0);
	before = carriers_preemptions(group);
	for (int k = 0; k < 2; k++) {
		players[k] = (player){.other = &players[1 - k]};
		idlers[k] = (idler){0};
	}
	start(1, &players[1].task, give_back, is_pinned);
	carriers_await(&waiting, 1);
	players[0].task.is_pinned = is_pinned;
	for (uint32_t k = 0; k < 2 && is_awake; k++)
		start(k, &idlers[k].task, idle, true);
	if (!is_awake)
		start(0, &players[0].task, serve, is_pinned);
	carriers_await(&carriers_ended, is_awake ? 4 : 2);
	bench_disturb(carriers_preemptions(group) - before);
	strays = (double)(players[0].strays + players[1].strays) / (double)(2 * games);
	return took_ns;
}

double bench_far(uint64_t ops)
{
	return play(false, false, false, ops);
}

BENCH_SIDE(asleep_pinned, play(true, true, false, ops))

double bench_near(uint64_t ops)
{
	return play(true, false, false, ops);
}

BENCH_SIDE(awake, play(false, false, true, ops))
BENCH_SIDE(awake_pinned, play(true, true, true, ops))

/* Counts for a side without carriers. */
static void nobody_plays(uint64_t ops)
{
	strays = 0;
	calls_begin(2 * ops);
}

enum { MOSTLY_PERCENT = 80 };

static double bare(uint64_t ops)
{
	double ns;

	nobody_plays(ops);
	ns = bench_bare_futex(ops);
	/* Threads that meet awake show nothing of the sleep: they are measured again. */
	bench_disturb(calls_waits * 100 < MOSTLY_PERCENT);
	return ns;
}

typedef struct spinners {
	_Alignas(WP_LINE) wp_atomic(uint64_t) turn;
	uint64_t last;
} spinners;

static void spin(void *context, int index)
{
	spinners *both = context;

	for (uint64_t turn = (uint64_t)index; turn < both->last; turn += 2) {
		unsigned spins = 0;

		while (wp_load_acquire(&both->turn) != turn)
			bench_spin(&spins);
		wp_store_release(&both->turn, turn + 1);
	}
}

static double spinning(uint64_t ops)
{
	static spinners both;
	double ns;

	wp_init(&both.turn, 0);
	both.last = 2 * ops;
	nobody_plays(ops);
	ns = bench_together(2, spin, &both);
	calls_end();
	return ns;
}

/* A hand-over writes three lines that the other carrier has written last: the task, the end of the
 * inbox, and the link to the task. 350 ns where they travel fast. */
static double three_lines(uint64_t ops)
{
	double ns = 3 * spinning(ops), goal = 350 * (double)ops;

	return ns > goal ? ns : goal;
}

const bench_row bench_pingpong[] = {
	{.name = "pingpong_asleep",
	 .sides = {{"futex", bare},
		   {"ours", bench_far},
		   {"pinned", asleep_pinned},
		   {"stealing", bench_near}},
	 .counts = {{"wakes", &calls_wakes}, {"waits", &calls_waits}, {"strays", &strays}}},
	{.name = "pingpong_awake",
	 .sides = {{"ours", awake},
		   {"pinned", awake_pinned},
		   {"lines", three_lines},
		   {"spinning", spinning}},
	 .counts = {{"calls", &calls_all}, {"strays", &strays}}},
	{.name = NULL},
};
