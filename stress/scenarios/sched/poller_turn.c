/* SPDX-License-Identifier: Apache-2.0
 * poller_turn.c - a poller and its carrier's loop, turn by turn, while other threads push, steal
 * and register.
 *
 *   the loop with its poller             a sibling
 *   poll, run; take its slot, run        steal
 *
 * Result        `poller_stays`: "its runs, stolen".
 * Why it works  Each scenario is a piece of the loop, made of the steps that worker.c and poller.c
 *               take (poller_turn.h). No actor blocks in a system call: whether it would is the
 *               result.
 * Spec          specs/sched/Poller.tla. */
#include "sched/poller_turn.h"

#include "stress.h"

enum { TURNS = 3 };

struct state {
	wp_domain domain;
	wp_carrier *by_index[2];
	wp_carrier_tasks homes[2];
	wp_poller poller;
	wp_task task, others[2];
	uint32_t runs; /* plain: belongs to the carrier */
};

static void wakeup(void *arg)
{
}

/* Finds the state by the task's place in it. */
static enum wp_step poll_turns(wp_task *task)
{
	struct state *state = (struct state *)(void *)((char *)task - offsetof(struct state, task));

	return ++state->runs == TURNS ? WP_STEP_DONE : WP_STEP_POLL;
}

static enum wp_step end_at_once(wp_task *task)
{
	return WP_STEP_DONE;
}

static void init_homes(struct state *state, wp_domain *domain)
{
	for (uint32_t index = 0; index < 2; index++) {
		wp_carrier_tasks_init(&state->homes[index], domain, index);
		wp_task_init(&state->others[index], end_at_once, "other");
	}
	state->homes[0].carrier.poller = &state->poller;
	wp_task_init(&state->task, poll_turns, "poller");
	state->task.is_pinned = true;
}

/* Two siblings share a domain. */
STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->by_index, 2);
	init_homes(state, &state->domain);
}

/* Called by the carrier's own thread, which the threads that wake it must know. */
static void registers(struct state *state)
{
	state->poller.config.wakeup = wakeup;
}

static bool parks(struct state *state, wp_mpsc_node **stolen)
{
	*stolen = NULL;
	return wp__poller_park(&state->poller, &state->homes[0].carrier, stolen);
}

static bool is_awake(struct state *state)
{
	return wp_load_relaxed(&state->homes[0].carrier.word) == WP_RUNNING;
}

STRESS_ACTOR_CALL(submitter, wp_carrier_submit(&state->homes[0].carrier, &state->others[0].node))
STRESS_ACTOR_CALL(thief, result->r[1] = wp_carrier_steal(&state->homes[0].carrier) != NULL)

/* Two pollers register. Result: "the first is registered, the second is". */
static bool enters(struct state *state, uint32_t index)
{
	const wp_poller_config config = {.wakeup = wakeup};

	return wp__poller_enter(&state->poller, &state->homes[0], &config,
				(wp_vthread *)(void *)&state->others[index], true) == WP_OK;
}

STRESS_ACTOR_CALL(first_enters, result->r[0] = enters(state, 0))
STRESS_ACTOR_CALL(second_enters, result->r[1] = enters(state, 1))

STRESS_TEST(poller_unique,
	    .claim = "Of two pollers that register, one becomes the carrier's poller.",
	    .upholds = "Poller!PinnedPollerUnique", .state_size = sizeof(struct state),
	    .init = init, .actors = {first_enters, second_enters}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the first poller is registered"},
		    {"0,1", ACCEPTABLE, "the second poller is registered"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*", FORBIDDEN, "both are registered, or neither is"},
	    });

/* The poller begins, and yields twice. */
STRESS_INIT(init_started)
{
	init(state);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->task);
}

/* Runs one turn of the loop. True if something ran. */
static bool turn(wp_carrier_tasks *home)
{
	wp_mpsc_node *node = wp_carrier_poll(&home->carrier);
	wp_task *poller;

	if (node != NULL)
		wp_carrier_tasks_run(home, (wp_task *)(void *)node);
	poller = wp__poller_take_slot(&home->carrier);
	if (poller != NULL)
		wp_carrier_tasks_run(home, poller);
	return node != NULL || poller != NULL;
}

STRESS_ACTOR(takes_turns)
{
	for (int count = 0; count < TURNS; count++)
		turn(&state->homes[0]);
	result->r[0] = state->runs;
}

STRESS_TEST(poller_stays, .claim = "No sibling takes a poller that begins, or has yielded.",
	    .upholds = "Poller!PollerStaysHome", .state_size = sizeof(struct state),
	    .init = init_started, .actors = {takes_turns, thief}, .results = 2,
	    .outcomes = {
		    {"3,0", ACCEPTABLE, "only its own carrier runs the poller"},
		    {"*,*", FORBIDDEN, "a sibling has the poller, or it does not run"},
	    });

/* The carrier sleeps when nothing runs. Result: "runs". */
STRESS_INIT(init_lone)
{
	init_homes(state, NULL);
}

STRESS_ACTOR(carries)
{
	while (state->runs < TURNS)
		if (!turn(&state->homes[0]))
			wp_carrier_park(&state->homes[0].carrier);
	result->r[0] = state->runs;
}

STRESS_ACTOR_CALL(starter, wp_carrier_tasks_start(&state->homes[0], NULL, &state->task))

STRESS_TEST(poller_runs, .claim = "A poller that has yielded runs again.",
	    .upholds = "Poller!PollerRuns", .state_size = sizeof(struct state), .init = init_lone,
	    .actors = {carries, starter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"3", ACCEPTABLE, "the poller runs in each turn, to its end"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the carrier sleeps, and the poller is in its slot"},
		    {"*", FORBIDDEN, "the poller runs on after its end"},
	    });

/* A sibling has two tasks. Result: "tasks in the hand". */
STRESS_INIT(init_loaded)
{
	init(state);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_submit(&state->homes[1].carrier, &state->others[index].node);
}

STRESS_ACTOR(steals_and_parks)
{
	wp_carrier_tasks *home = &state->homes[0];
	wp_mpsc_node *stolen;

	registers(state);
	home->carrier.next = wp_carrier_steal(&state->homes[1].carrier);
	result->r[0] = home->carrier.next != NULL;
	if (wp__carrier_has_private(&home->carrier))
		return;
	if (parks(state, &stolen))
		wp__poller_leave(&state->poller, &home->carrier, &stolen);
	result->r[0] += stolen != NULL;
}

STRESS_ACTOR_CALL(sibling_polls, wp_carrier_poll(&state->homes[1].carrier))

STRESS_TEST(poller_keeps, .claim = "A poller runs the tasks that it has stolen before it parks.",
	    .upholds = "Poller!StolenIsKept", .state_size = sizeof(struct state),
	    .init = init_loaded, .actors = {steals_and_parks, sibling_polls}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the poller lost the race for both tasks"},
		    {"1", ACCEPTABLE, "the poller took one task, for the one place that there is"},
		    {"*", FORBIDDEN, "lost task: the second one overwrites the first"},
	    });

/* Result: "the poller checks while its carrier is parked". */
STRESS_ACTOR(parks_and_looks)
{
	wp_mpsc_node *stolen;

	registers(state);
	if (parks(state, &stolen))
		wp__poller_leave(&state->poller, &state->homes[0].carrier, &stolen);
	result->r[0] = !is_awake(state);
}

STRESS_TEST(poller_paired, .claim = "A poller that checks for work has left its park.",
	    .upholds = "Poller!PollerParkPaired", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_and_looks, submitter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "woken or not, the carrier is RUNNING"},
		    {"*", FORBIDDEN, "other threads take the carrier for one that sleeps"},
	    });

/* The poller is descheduled while parked, and the loop runs what it finds. Result: "runs while
 * parked". */
STRESS_ACTOR(steps_aside)
{
	wp_carrier_tasks *home = &state->homes[0];
	wp_mpsc_node *stolen, *node;

	registers(state);
	parks(state, &stolen);
	if (wp__poller_is_aside(&state->poller))
		wp__poller_leave(&state->poller, &home->carrier, &stolen);
	node = wp_carrier_poll(&home->carrier);
	result->r[0] = node != NULL && !is_awake(state);
}

STRESS_TEST(poller_aside,
	    .claim = "A task that runs while a poller stands aside runs on an awake carrier.",
	    .upholds = "Poller!RunsOnlyWhenRunning", .state_size = sizeof(struct state),
	    .init = init, .actors = {steps_aside, submitter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the loop has left the park, or found nothing"},
		    {"*", FORBIDDEN, "a task runs while the carrier's word says that it sleeps"},
	    });

/* The poller has parked its carrier, and resumes a thread there, for which no push sends a wakeup.
 * Result: "would block, what is left". */
STRESS_INIT(init_parked)
{
	init(state);
	state->others[0].home = &state->homes[0];
}

STRESS_ACTOR(resumes_and_asks)
{
	wp_mpsc_node *stolen;

	registers(state);
	if (!parks(state, &stolen))
		return;
	wp__carrier_tasks_push(&state->homes[0], &state->others[0]);
	result->r[0] = wp__poller_may_sleep(&state->poller, &state->homes[0]);
}

STRESS_ACTOR_CALL(takes_some, wp_carrier_steal(&state->homes[0].carrier))
STRESS_ACTOR_CALL(read_left, result->r[1] = wp__carrier_has_runnable(&state->homes[0].carrier))

STRESS_TEST(poller_resumes,
	    .claim = "A poller does not sleep beside a task that it has resumed itself.",
	    .upholds = "Poller!NoMissedSubmission", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {resumes_and_asks, takes_some}, .arbiter = read_left,
	    .results = 2,
	    .outcomes = {
		    {"0,*", ACCEPTABLE,
		     "the poller leaves its park, and its carrier runs what is left"},
		    {"1,0", ACCEPTABLE, "a sibling has taken the task"},
		    {"*,*", FORBIDDEN,
		     "lost wakeup: the poller sleeps beside work, and nothing will wake it"},
	    });
