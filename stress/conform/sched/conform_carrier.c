/* SPDX-License-Identifier: Apache-2.0
 * conform_carrier.c - the threads of specs/sched/Carrier.tla: a carrier, submitters and a searcher.
 *
 *   carrier, for ever                      submitter    searcher, twice or not
 *   run; poll; nothing: park, at the       submit       take the token; the word PARKED: send the
 *   futex or in a poller; leave                         carrier to a victim, and wake it
 *
 * Why it works  The victims are carriers without a thread and without work. The searcher comes at
 *               any time, as in the spec: it does not look at the idle set. The poller consists of
 *               two choices (descheduled or not; input or not) and of the carrier's eventfd.
 * Spec          specs/sched/Carrier.tla. Compared by wakeproof conform -t carrier. */
#include "base/futex.h"
#include "litmus.h"
#include "sched/search.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 3, TASKS = 2 };
#include "scenarios/sched/cluster.h"

static void signal_event(void *arg)
{
	wp_event_signal(*(int *)arg);
}

STRESS_INIT(init)
{
	cluster_init(state, CARRIERS);
	state->event = wp_event_open();
	state->poller = (wp_poller){.config = {.wakeup = signal_event, .arg = &state->event}};
	state->carriers[0].poller = &state->poller;
}

static void fini(void *at)
{
	wp_event_close(((struct state *)at)->event);
}

/* What a poller sees of the eventfd without reading it. In the explorer, this is the first event of
 * the scenario, at the address where the explorer keeps it. */
#ifdef WP_EXPLORE
#define THE_EVENT ((wp_atomic(uint64_t) *)(uintptr_t)(0x100000000000 + (1 << 20) - 4096))
#define IS_READABLE(event) ((void)(event), litmus_load(THE_EVENT, relaxed))
#else
#include <poll.h>
#define IS_READABLE(event) \
	(WP__SYSTEM("", 0, event, poll(&(struct pollfd){event, POLLIN, 0}, 1, 0)) == 1)
#endif

static void poller_sleep(int event)
{
	if (litmus_choose(2) == 1)        /* [Select] */
		return;                   /* descheduled */
	while (litmus_choose(2) == 0)     /* [Selecting] */
		if (IS_READABLE(event)) { /* [Readable] */
			wp_event_take(event);
			return;
		}
}

static void park(struct state *state)
{
	wp_carrier *carrier = &state->carriers[0];
	uint32_t place = litmus_choose(2) == 0 ? WP_PARKED_FUTEX : WP_PARKED_POLLER; /* [Place] */
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(carrier, place, &stolen))
		return;
	if (place == WP_PARKED_FUTEX)
		wp_carrier_sleep_until(carrier, WP_FOREVER);
	else
		poller_sleep(state->event);
	wp_carrier_leave(carrier);
}

STRESS_ACTOR(owner)
{
	wp_carrier *carrier = &state->carriers[0];

	for (;;) {
		litmus_step(); /* [End] */
		while (wp_carrier_poll(carrier) == NULL)
			park(state);
	}
}

STRESS_ACTOR_CALL(submitter_1, cluster_submit(state, 0, 0))
STRESS_ACTOR_CALL(submitter_2, cluster_submit(state, 0, 1))

/* As recruit in search.c. True: the token has gone with the wake. */
static bool send(wp_carrier *carrier, unsigned victims)
{
	uint32_t word = litmus_load(&carrier->word, relaxed), place = word; /* [LoadWord] */
	uint32_t victim;

	if (!wp__is_parked(word))
		return false;
	victim = WP_SEARCHING + 1 + litmus_choose(victims); /* [Victim] */
	if (!wp_cas_acq_rel(&carrier->word, &word, victim)) /* [Signal] */
		return false;
	wp__carrier_wake(carrier, place);
	return true;
}

static void search(struct state *state, unsigned victims)
{
	while (!wp_search_start(&state->domain))
		continue;
	if (!send(&state->carriers[0], victims))
		wp_search_stop(&state->domain);
}

STRESS_ACTOR(searcher_twice)
{
	search(state, 2);
	search(state, 2);
}

STRESS_ACTOR(searcher_never)
{
	(void)state, (void)result;
}

/* A pinned task. Its submitter starts no search, which would send the carrier to the sibling. */
STRESS_ACTOR_CALL(pinner, wp_carrier_submit_pinned(&state->carriers[0], &state->tasks[0]))

/* At any time the sibling has something to steal, or has nothing. The node at the head of its queue
 * can be taken by no thief. */
STRESS_ACTOR(sibling)
{
	wp_mpsc *queue = &state->carriers[1].queue;

	for (;;) {
		litmus_store(&queue->head, &state->tasks[1], relaxed); /* [Has] */
		litmus_store(&queue->head, NULL, relaxed);             /* [Has] */
	}
}

STRESS_TEST(conform_carrier_two, .claim = "The compiled carrier is the specified one.",
	    .upholds = "Carrier!WakeReachesSleeper", .state_size = sizeof(struct state),
	    .init = init, .fini = fini, .actors = {owner, searcher_never, submitter_1, submitter_2},
	    .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it polls on"}});
STRESS_TEST(conform_carrier, .claim = "So it is with one submitter.",
	    .upholds = "Carrier!WakeReachesSleeper", .state_size = sizeof(struct state),
	    .init = init, .fini = fini, .actors = {owner, searcher_twice, submitter_1},
	    .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it polls on"}});
STRESS_TEST(conform_carrier_hit, .claim = "So it is where a sibling may have work.",
	    .upholds = "Carrier!WakeReachesSleeper", .state_size = sizeof(struct state),
	    .init = init, .fini = fini, .actors = {owner, searcher_never, pinner, sibling},
	    .results = 1, .blocking = 1, .outcomes = {{"stuck", ACCEPTABLE, "it polls on"}});
