/* SPDX-License-Identifier: Apache-2.0
 * group_close.c - several threads close a group beside a carrier.
 *
 *   closer                          carrier
 *   closing.h                       poll and run, park; at the stop: report the exit
 *
 * Why it works  Words stand for the threads of group.c: a stop is sent to the home, and an exit is
 *               a word. In a scenario without a carrier, the carrier has exited before.
 * Spec          specs/sched/GroupClose.tla, Group.tla. */
#include "sched/group_close.h"
#include "base/error.h"
#include "sched/run_queues.h"
#include "stress.h"
#include "sched/vthread_start.h"

enum { HOMES = 2, SOON_NS = 1 };

struct state {
	wp_carrier_tasks homes[HOMES];
	wp_closing closing;
	wp_task task;
	wp_vthread thread;
	wp_mpsc_node stop;
	bool is_counted; /* tasks to be taken back are counted, and left */
	bool is_watched; /* only the threads that take back at the same time are counted */
	bool is_sent;    /* plain: belongs to the close that is inside */
	uint32_t listed,
		back; /* plain too: tasks listed when the stop was sent; tasks handed back */
	wp_atomic(uint32_t) exited; /* the carrier of the second home; the first one's has exited */
	wp_atomic(uint32_t) is_running;   /* that carrier ran while tasks were taken back */
	wp_atomic(uint32_t) takers, both; /* threads that take back now; two did at once */
};

struct closer {
	wp_close close; /* must be first */
	struct state *state;
};

static struct state *state_of(wp_close *close)
{
	return ((struct closer *)(void *)close)->state;
}

static wp_carrier_tasks *home_of(wp_close *close, uint32_t index)
{
	return &state_of(close)->homes[index];
}

static void shut(wp_close *close)
{
	close->given_ns = close->deadline_ns;
	for (uint32_t index = 0; index < HOMES; index++)
		wp__carrier_tasks_shut(home_of(close, index));
}

static void send_stop(struct state *state)
{
	if (state->is_sent)
		return;
	state->is_sent = true;
	for (uint32_t index = 0; index < HOMES; index++)
		state->listed += (uint32_t)wp_carrier_tasks_count(&state->homes[index]);
	if (wp_load_relaxed(&state->exited) == 0)
		wp__carrier_tasks_stop(&state->homes[1], &state->stop);
}

static int join(wp_close *close)
{
	struct state *state = state_of(close);

	send_stop(state);
	while (wp_load_acquire(&state->exited) == 0) {
		int code = wp_futex_wait(&state->exited, 0, close->turn_ns);

		if (code == WP_TIMEOUT || code == WP_INTERRUPTED)
			return code;
	}
	return WP_OK;
}

static uint64_t take_back(wp_close *close)
{
	struct state *state = state_of(close);
	uint64_t left = 0;
	bool was_parked;

	if (wp_load_relaxed(&state->exited) == 0) {
		wp_store_relaxed(&state->is_running, 1);
		return 0; /* taking a task would be a data race */
	}
	if (state->is_watched) {
		if (wp_fetch_add_relaxed(&state->takers, 1) != 0)
			wp_store_relaxed(&state->both, 1);
		wp_fetch_add_relaxed(&state->takers, UINT32_MAX);
		return 0;
	}
	for (uint32_t index = 0; index < HOMES; index++) {
		while (!state->is_counted &&
		       wp__carrier_tasks_hand_back(&state->homes[index], &was_parked) != NULL)
			state->back++;
		left += wp_carrier_tasks_count(&state->homes[index]);
	}
	if (state->is_counted) {
		state->back = (uint32_t)left;
		return 0;
	}
	return left;
}

static void hand_back(wp_close *close)
{
}

static int close_by(struct state *state, int64_t deadline_ns, bool cancels)
{
	struct closer own = {.state = state};

	own.close.turn_ns = deadline_ns;
	own.close.deadline_ns = deadline_ns;
	own.close.cancels = cancels;
	own.close.count = HOMES;
	own.close.home = home_of;
	own.close.shut = shut;
	own.close.join = join;
	own.close.take_back = take_back;
	own.close.hand_back = hand_back;
	return wp__close(&state->closing, &own.close);
}

static void init(void *at)
{
	struct state *state = at;

	for (uint32_t index = 0; index < HOMES; index++)
		wp_carrier_tasks_init(&state->homes[index], NULL, index);
}

STRESS_ACTOR(carrier)
{
	wp_carrier_tasks *home = &state->homes[1];

	for (;;) {
		wp_mpsc_node *node = wp_carrier_poll(&home->carrier);

		if (node == &state->stop)
			break;
		if (node == NULL)
			wp_carrier_park(&home->carrier);
		else
			wp_carrier_tasks_run(home, (wp_task *)(void *)node);
	}
	wp_store_release(&state->exited, 1);
	wp_futex_wake(&state->exited, HOMES);
}

/* Several threads close a group without tasks after its carriers have exited. Result: "each has
 * closed it". */
STRESS_INIT(init_exited)
{
	init(state);
	wp_init(&state->exited, 1);
}

STRESS_ACTOR_CALL(first, result->r[0] = close_by(state, WP_FOREVER, false) == WP_OK)
STRESS_ACTOR_CALL(second, result->r[1] = close_by(state, WP_FOREVER, false) == WP_OK)

STRESS_TEST(group_close_turn, .claim = "A thread that waits for its turn to close gets it.",
	    .upholds = "GroupClose!TurnIsPassedOn", .state_size = sizeof(struct state),
	    .init = init_exited, .actors = {first, second}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "one thread closed after the other"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: a thread waits for its turn, and no close is inside"},
		    {"*,*", FORBIDDEN, "a close reports that the group is not closed"},
	    });

static enum wp_step end_at_once(wp_task *task)
{
	return WP_STEP_DONE;
}

STRESS_ACTOR_CALL(patient, close_by(state, WP_FOREVER, false))

/* The task is parked at the second home, and unparked during the close. Result: "tasks listed when
 * the stop was sent, and handed back". */
static enum wp_step park_at_once(wp_task *task)
{
	task->step = end_at_once;
	return WP_STEP_PARK;
}

STRESS_INIT(init_parked)
{
	init(state);
	wp_task_init(&state->task, park_at_once, "task");
	wp_carrier_tasks_start(&state->homes[1], NULL, &state->task);
	wp_carrier_tasks_run(&state->homes[1],
			     (wp_task *)(void *)wp_carrier_poll(&state->homes[1].carrier));
}

STRESS_INIT(init_left)
{
	init_parked(state);
	wp_init(&state->exited, 1);
	state->is_counted = true;
}

/* As wp_task_unpark, and then the task's carrier. */
STRESS_ACTOR(resumes)
{
	wp_mpsc_node *node;

	if (!wp__task_notify(&state->task))
		return;
	wp__carrier_tasks_push(NULL, &state->task);
	node = wp_carrier_poll(&state->homes[1].carrier);
	if (node != NULL)
		wp_carrier_tasks_run(&state->homes[1], (wp_task *)(void *)node);
}

STRESS_ACTOR(look_at_rest)
{
	result->r[0] = state->listed;
	result->r[1] = state->back;
}

STRESS_TEST(group_close_all,
	    .claim = "A close without a deadline sends no stop while a task is listed.",
	    .upholds = "GroupClose!WaitsForAll", .state_size = sizeof(struct state),
	    .init = init_left, .actors = {patient, resumes}, .arbiter = look_at_rest, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", REQUIRED, "the close has waited for the task"},
		    {"asleep", FORBIDDEN, "lost wakeup: the close does not return"},
		    {"*,*", FORBIDDEN, "the stop was sent while a task was listed"},
	    });

STRESS_TEST(group_close_hands_nothing, .claim = "A close without a deadline hands no task back.",
	    .upholds = "Group!WaitsForAll", .state_size = sizeof(struct state), .init = init_left,
	    .actors = {patient, resumes}, .arbiter = look_at_rest, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", REQUIRED, "the task has ended"},
		    {"asleep", FORBIDDEN, "lost wakeup: the close does not return"},
		    {"*,*", FORBIDDEN, "a task is handed back, or could have been"},
	    });

/* A close cancels with a deadline, beside a carrier. Result: "took back beside a carrier; tasks
 * taken back". */
STRESS_ACTOR_CALL(in_time, close_by(state, SOON_NS, true))

STRESS_ACTOR(look_at_drain)
{
	result->r[0] = wp_load_relaxed(&state->is_running);
	result->r[1] = state->back;
}

STRESS_TEST(group_close_joins, .claim = "No task is taken back while a carrier runs.",
	    .upholds = "Group!NothingRunsAfterClose", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {in_time, carrier}, .arbiter = look_at_drain,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the deadline passed before the carrier exited"},
		    {"0,1", ACCEPTABLE, "the carrier has exited, and the task is taken back"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the close does not return, or the carrier gets no stop"},
		    {"*,*", FORBIDDEN, "a task was taken back while the carrier ran"},
	    });

/* Two threads cancel and close; the carriers have exited. Result: "two took back at once". */
STRESS_INIT(init_watched)
{
	init_exited(state);
	state->is_watched = true;
}

STRESS_ACTOR_CALL(cancels, close_by(state, WP_FOREVER, true))
STRESS_ACTOR_CALL(look_at_takers, result->r[0] = wp_load_relaxed(&state->both))

STRESS_TEST(group_close_one, .claim = "One close at a time takes tasks back.",
	    .upholds = "GroupClose!OneConsumer", .state_size = sizeof(struct state),
	    .init = init_watched, .actors = {cancels, cancels}, .arbiter = look_at_takers,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", REQUIRED, "one thread closed after the other"},
		    {"asleep", FORBIDDEN, "lost wakeup: a close does not return"},
		    {"*", FORBIDDEN, "two closes consume the queues at once"},
	    });

/* One close cancels, and its deadline may pass; then another close waits. The task is parked.
 * Result: "tasks taken back". */
STRESS_ACTOR(cancels_and_waits)
{
	close_by(state, SOON_NS, true);
	close_by(state, WP_FOREVER, false);
}

STRESS_ACTOR_CALL(look_at_back, result->r[0] = state->back)

STRESS_TEST(group_close_stopped, .claim = "A close waits for no task once a stop is sent.",
	    .upholds = "GroupClose!WaitsForWhatRuns", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {cancels_and_waits, carrier}, .arbiter = look_at_back,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the close takes back the task that the carrier has left"},
		    {"asleep", FORBIDDEN, "the close waits for a task that no carrier runs"},
		    {"*", FORBIDDEN, "the task is lost"},
	    });

/* A scheduler has a thread, and never runs it. Result: "a close has returned, and not closed the
 * group; the other one too". */
static void take_it(void *arg, wp_vthread *thread)
{
}

static const wp_scheduler scheduler = {.submit = take_it};

STRESS_INIT(init_given)
{
	init_exited(state);
	wp__vthread_init(&state->thread, NULL);
	state->thread.scheduler = &scheduler;
	wp_carrier_tasks_start(&state->homes[1], NULL, &state->thread.task);
}

STRESS_ACTOR_CALL(late_first, result->r[0] = close_by(state, SOON_NS, true) == WP_TIMEOUT)
STRESS_ACTOR_CALL(late_second, result->r[1] = close_by(state, SOON_NS, true) == WP_TIMEOUT)

STRESS_TEST(group_close_returns,
	    .claim = "A close with a deadline returns, even if a scheduler keeps a thread.",
	    .upholds = "GroupClose!Returns", .state_size = sizeof(struct state), .init = init_given,
	    .actors = {late_first, late_second}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "each close reports that its time is up"},
		    {"asleep", FORBIDDEN, "lost wakeup: a close does not return"},
		    {"*,*", FORBIDDEN, "a close reports that the group is closed"},
	    });
