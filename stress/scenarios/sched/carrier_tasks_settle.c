/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks_settle.c - a virtual thread settles on the first carrier that runs it.
 *
 *   first_home        settles_away     settled_unparker
 *   poll, run         steal, run       unpark, push
 *
 * Result        `carrier_tasks_settle`: "runs, by another than the first".
 * Why it works  The carrier that runs the thread next reads its home after the park that ended the
 *               run before.
 * Spec          specs/sched/Group.tla. */
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "stress.h"

struct settled {
	wp_carrier_tasks homes[2];
	wp_vthread thread;
	uint32_t runs, by, first, moved; /* plain: each run hands them to the next */
};

static enum wp_step settle(wp_task *task)
{
	struct settled *state =
		(struct settled *)(void *)((char *)task - offsetof(struct settled, thread));

	if (state->runs++ > 0) {
		state->moved = state->by != state->first;
		return WP_STEP_DONE;
	}
	state->first = state->by;
	wp__carrier_tasks_settle(&state->homes[state->by], &state->thread);
	return WP_STEP_PARK;
}

static void finish(wp_task *task)
{
	wp__vthread_finish((wp_vthread *)(void *)task);
}

STRESS_INIT_OF(settled, init_settled)
{
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], NULL, index);
	wp__vthread_init(&state->thread, settle);
	state->thread.task.ended = finish;
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->thread.task);
}

static void run_settled(struct settled *state, uint32_t by, wp_mpsc_node *node)
{
	if (node == NULL)
		return;
	/* As wp_carrier_tasks_run, which checks whether the thread left its stack. */
	wp__vthread_begin(&state->thread);
	state->by = by;
	wp__carrier_tasks_after(&state->homes[by], &state->thread.task,
				settle(&state->thread.task));
}

STRESS_ACTOR_OF(settled, first_home)
{
	run_settled(state, 0, wp_carrier_poll(&state->homes[0].carrier));
}

STRESS_ACTOR_OF(settled, settles_away)
{
	run_settled(state, 1, wp_carrier_steal(&state->homes[0].carrier));
}

STRESS_ACTOR_OF(settled, settled_unparker)
{
	if (wp__vthread_notify(&state->thread) == WP_OWES_PUSH)
		wp__carrier_tasks_push(NULL, &state->thread.task);
}

STRESS_ACTOR_OF(settled, run_settled_rest)
{
	for (uint32_t turn = 0; turn < 4; turn++)
		run_settled(state, turn % 2, wp_carrier_poll(&state->homes[turn % 2].carrier));
	result->r[0] = state->runs;
	result->r[1] = state->moved;
}

STRESS_TEST(carrier_tasks_settle,
	    .claim = "A thread that has settled on a carrier runs on that carrier only.",
	    .upholds = "Group!StaysSettled", .state_size = sizeof(struct settled),
	    .init = init_settled, .actors = {first_home, settles_away, settled_unparker},
	    .arbiter = run_settled_rest, .results = 2,
	    .outcomes = {
		    {"2,0", ACCEPTABLE, "the thread runs twice, where it ran first"},
		    {"*,*", FORBIDDEN, "the thread is lost, or runs elsewhere"},
	    });
