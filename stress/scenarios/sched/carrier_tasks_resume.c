/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks_resume.c - the thread that unparks a parked task chooses where it resumes.
 *
 *   first_carrier           other_carrier     chooser
 *   poll, run: it parks     poll, run         unpark; mine:
 *                                             home 1; push
 *
 * Result        `carrier_tasks_resume`: "runs, polled where it is not at home, listed, its last
 *               run's carrier".
 * Why it works  Only the thread that has the task in its hands reads and writes the task's home.
 *               The task is on the list of home 0 until it has ended.
 * Spec          specs/sched/Group.tla: Resume. */
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "stress.h"

struct resumed {
	wp_carrier_tasks homes[2], *all[2];
	wp_task task;
	uint32_t runs, lost, by; /* plain: each run hands them to the next */
};

static enum wp_step park_once(wp_task *task)
{
	struct resumed *state =
		(struct resumed *)(void *)((char *)task - offsetof(struct resumed, task));

	return state->runs++ == 0 ? WP_STEP_PARK : WP_STEP_DONE;
}

STRESS_INIT_OF(resumed, init_free)
{
	for (uint16_t index = 0; index < 2; index++) {
		wp_carrier_tasks_init(&state->homes[index], NULL, index);
		state->all[index] = &state->homes[index];
		state->homes[index].all = state->all;
		state->homes[index].number = index;
	}
	wp_task_init(&state->task, park_once, "task");
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->task);
}

/* Pins the task, as one that has settled on a carrier. */
static void init_pinned(void *at)
{
	init_free(at);
	((struct resumed *)at)->task.is_pinned = 1;
}

static void poll_and_run(struct resumed *state, uint32_t by)
{
	wp_mpsc_node *node = wp_carrier_poll(&state->homes[by].carrier);

	if (node == NULL)
		return;
	state->lost += state->task.home != &state->homes[by];
	state->by = by;
	wp_carrier_tasks_run(&state->homes[by], &state->task);
}

static void first_carrier(void *at, stress_result *result)
{
	poll_and_run(at, 0);
}

static void other_carrier(void *at, stress_result *result)
{
	poll_and_run(at, 1);
}

/* As wp_task_unpark. */
STRESS_ACTOR_OF(resumed, chooser)
{
	if (wp_twin(group_resume_early))
		wp__carrier_tasks_resume(&state->homes[1], &state->task);
	if (!wp__task_notify(&state->task))
		return;
	if (!wp_twin(group_resume_early))
		wp__carrier_tasks_resume(&state->homes[1], &state->task);
	wp__carrier_tasks_push(NULL, &state->task);
}

STRESS_ACTOR_OF(resumed, run_rest)
{
	for (uint32_t turn = 0; turn < 4; turn++)
		poll_and_run(state, turn % 2);
	result->r[0] = state->runs;
	result->r[1] = state->lost;
	result->r[2] = (int64_t)wp_carrier_tasks_count(&state->homes[0]);
	result->r[3] = state->by;
}

STRESS_TEST(carrier_tasks_resume,
	    .claim = "A thread that unparks a task chooses the carrier where it resumes.",
	    .upholds = "Group!HomeReturn", .state_size = sizeof(struct resumed), .init = init_free,
	    .actors = {first_carrier, other_carrier, chooser}, .arbiter = run_rest, .results = 4,
	    .outcomes = {
		    {"1,0,1,0", ACCEPTABLE,
		     "the task was unparked before it ran: it is parked, and listed"},
		    {"2,0,0,0", ACCEPTABLE,
		     "the task was unparked while it ran: it stays where it is"},
		    {"2,0,0,1", ACCEPTABLE, "the task resumes at the chosen home"},
		    {"*,*,*,*", FORBIDDEN, "the task is lost, run twice, or listed nowhere"},
	    });

STRESS_TWIN(group_resume_early, .of = "carrier_tasks_resume",
	    .defect = "A thread that unparks a task changes its home, though another thread has "
		      "the task.",
	    .shows = "*,1,*,*", .seen_by = SEEN_CHECK | SEEN_EXPLORED, .chance = SEEN_CORES);

STRESS_TEST(carrier_tasks_resume_settled,
	    .claim = "A settled thread resumes at home, whichever thread unparks it.",
	    .upholds = "Group!HomeStaysSettled", .state_size = sizeof(struct resumed),
	    .init = init_pinned, .actors = {first_carrier, other_carrier, chooser},
	    .arbiter = run_rest, .results = 4,
	    .outcomes = {
		    {"1,0,1,0", ACCEPTABLE,
		     "the task was unparked before it ran: it is parked, and listed"},
		    {"2,0,0,0", ACCEPTABLE, "the thread resumes at home"},
		    {"*,*,*,*", FORBIDDEN, "the thread is lost, run twice, or runs elsewhere"},
	    });

/* A close hands the task back from the queue of the home where it was to resume. Result: "handed
 * back by the close, and later; homes whose list or count is not empty". */
STRESS_ACTOR_OF(resumed, hander)
{
	bool was_parked;

	for (uint32_t index = 0; index < 2; index++)
		result->r[0] +=
			wp__carrier_tasks_hand_back(&state->homes[index], &was_parked) != NULL;
}

STRESS_ACTOR_OF(resumed, hand_back_rest)
{
	hander(state, result);
	for (uint32_t index = 0; index < 2; index++)
		result->r[1] += (wp_carrier_tasks_count(&state->homes[index]) != 0) +
				(state->homes[index].tasks != NULL);
}

static void init_parked(void *at)
{
	init_free(at);
	poll_and_run(at, 0);
}

STRESS_TEST(carrier_tasks_resume_back, .claim = "A task that a close hands back is on no list.",
	    .upholds = "Group!NoTaskLost", .state_size = sizeof(struct resumed),
	    .init = init_parked, .actors = {hander, chooser}, .arbiter = hand_back_rest,
	    .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the task was parked, or queued at its new home"},
		    {"*,*", FORBIDDEN, "the task is lost, handed back twice, or still listed"},
	    });
