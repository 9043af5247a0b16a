/* SPDX-License-Identifier: Apache-2.0
 * descriptor_stolen.c - a stolen thread waits for its home's descriptor, and resumes at home.
 *
 *   sibling that stole the thread        home
 *   check; try: no data                  data++, and an edge: report it:
 *   wait: enter the queue                  granted: submit
 *   park; refused: submit to its home    park for its poller; block?
 *
 * Result        `descriptor_stolen`: "where, wakeups".
 * Why it works  The home's poller really parks its carrier, but nothing blocks: the carrier's word
 *               shows that it would. The thread resumes in one of two places. 1: it has read on the
 *               carrier that stole it. 2: it resumes at home, which is awake or was woken.
 * Spec          specs/io/Descriptor.tla, Poller.tla. */
#include "sched/poller.h"
#include "sched/run_queues.h"
#include "io/readiness.h"
#include "stress.h"
#include "thread/vthread.h"

struct state {
	wp_domain domain;
	wp_carrier *by_index[1];
	wp_carrier home;
	wp_poller poller;
	wp_atomic(uint32_t) wakeups;
	wp_ready ready;
	wp_atomic(uint32_t) data;
	wp_waiter waiter;
	wp_vthread thread;
	uint32_t steps; /* plain: belongs to the carrier that runs the thread */
};

static void wakeup(void *arg)
{
	wp_fetch_add_relaxed(&((struct state *)arg)->wakeups, 1);
}

static void registers(struct state *state)
{
	state->poller.config.wakeup = wakeup;
	state->poller.config.arg = state;
}

STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->by_index, 1);
	wp_carrier_init(&state->home, &state->domain, 0);
	state->home.poller = &state->poller;
	registers(state);
	wp_init(&state->wakeups, 0);
	wp_ready_init(&state->ready);
	wp_init(&state->data, 0);
	wp_task_init(&state->thread.task, NULL, NULL);
	wp_init(&state->thread.interrupted, 0);
	wp_init(&state->thread.given, 0);
	wp_init(&state->thread.let_go, 0);
	state->steps = 0;
}

/* As wp__vthread_push: submits the thread to its home, wherever it ran. */
static void push(wp_vthread *thread)
{
	struct state *state = (struct state *)((char *)thread - offsetof(struct state, thread));

	wp_carrier_submit(&state->home, &thread->task.node);
}

/* True if the thread goes on at once. */
static bool waits(struct state *state)
{
	uint32_t seen = wp_ready_look(&state->ready);

	if (wp_load_relaxed(&state->data) != 0)
		return true;
	wp__waiter_init(&state->waiter, &state->thread, push);
	return wp__ready_begin(&state->ready, seen, &state->waiter) != WP_MUST_PARK;
}

STRESS_ACTOR(thief)
{
	wp__vthread_begin(&state->thread);
	state->steps++;
	result->r[0] = waits(state);
	if (result->r[0] == 0 && !wp__vthread_park(&state->thread))
		push(&state->thread);
}

STRESS_ACTOR(home)
{
	wp_mpsc_node *stolen;

	registers(
		state); /* by the carrier's own thread, which the threads that wake it must know */
	wp_store_relaxed(&state->data, 1);
	wp_ready_tell(&state->ready, true);
	while (wp_carrier_poll(&state->home) != NULL) {
		wp__vthread_begin(&state->thread);
		state->steps++;
	}
	if (wp__poller_park(&state->poller, &state->home, &stolen) &&
	    !wp__poller_may_block(&state->poller, &state->home))
		wp_carrier_leave(&state->home);
}

/* 2: at home, which has run the thread, or is awake and has it queued. */
STRESS_ACTOR(where)
{
	bool is_home = state->steps == 2,
	     is_asleep = wp__is_parked(wp_load_relaxed(&state->home.word));

	if (result->r[0] == 0 &&
	    (is_home || (!wp_mpsc_is_quiescent(&state->home.queue) && !is_asleep)))
		result->r[0] = 2;
	result->r[1] = wp_load_relaxed(&state->wakeups);
}

STRESS_TEST(descriptor_stolen,
	    .claim = "A stolen thread that waits resumes at home, and its home's poller is woken.",
	    .upholds = "Descriptor!IoCompletionAtHome", .state_size = sizeof(struct state),
	    .init = init, .actors = {thief, home}, .arbiter = where, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the thread has read on the carrier that stole it"},
		    {"2,0", ACCEPTABLE, "the thread is at home, which saw it before it slept"},
		    {"2,1", ACCEPTABLE, "the thread is at home, which its park has woken"},
		    {"*,*", FORBIDDEN,
		     "lost wakeup: the thread is ready and its home sleeps; or a spurious wakeup"},
	    });
