/* SPDX-License-Identifier: Apache-2.0
 * conform_task.c - the threads of specs/thread/Task.tla: carriers at home, unparkers and a
 * canceller.
 *
 *   owner, for ever     thief, for ever     unparker                 canceller
 *   poll; run           steal; run          notify; owed: push home  cancel, until it is done
 *
 * Why it works  The step chooses any of done, yield and park. The comparison bounds the number of
 *               yields (a ghost). No thread sleeps, so a push wakes none.
 * Spec          specs/thread/Task.tla. Compared by wakeproof conform -t task. */
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "litmus.h"
#include "stress.h"

/* On real cores an unparker comes more than once, because it rarely meets a park. */
#ifdef WP_EXPLORE
enum { UNPARKS = 1 };
#else
enum { UNPARKS = 2 };
#endif

struct state {
	_Alignas(WP_LINE) wp_task task;
	wp_carrier_tasks homes[2]; /* the owner's, which is the task's home; the thief's */
	wp_domain domain;
	wp_carrier *carriers[2];
};

static enum wp_step step(wp_task *task)
{
	return (enum wp_step)litmus_choose(3); /* [Step] */
}

STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->carriers, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], &state->domain, index);
	wp_task_init(&state->task, step, NULL);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->task);
}

static void run(wp_carrier_tasks *home, wp_mpsc_node *node)
{
	if (node != NULL)
		wp_carrier_tasks_run(home, (wp_task *)(void *)node);
}

STRESS_ACTOR(owner)
{
	for (;;)
		run(&state->homes[0], wp_carrier_poll(&state->homes[0].carrier));
}

STRESS_ACTOR(thief)
{
	for (;;)
		run(&state->homes[1], wp_carrier_steal(&state->homes[0].carrier));
}

/* As wp_task_unpark. */
STRESS_ACTOR(unparker)
{
	for (int round = 0; round < UNPARKS; round++)
		if (wp__task_notify(&state->task))
			wp__carrier_tasks_push(NULL, &state->task);
}

/* Its first look at the task is reported by a step that touches no memory. */
STRESS_ACTOR(asker)
{
	bool is_done = wp_task_is_done(&state->task);

	litmus_return(is_done, is_done != wp_twin(conform_done_lies)); /* [Gave] */
	unparker(state, result);
}

STRESS_ACTOR(canceller)
{
	while (!wp__task_cancel(&state->task))
		continue;
}

STRESS_TEST(conform_task, .claim = "The compiled task, run by homes, is the specified one.",
	    .upholds = "Task!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {owner, thief, unparker, asker, canceller}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the carriers look for it for ever"}});
