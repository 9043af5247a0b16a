/* SPDX-License-Identifier: Apache-2.0
 * carrier.c - the carrier's word: a carrier leaves its sleep, or is woken where it sleeps.
 *
 *   carrier 0 (parked)   searcher
 *   leave                search for carrier 1
 *
 * Result        `carrier_exit`: "stole, kept".
 * Why it works  In `carrier_exit` no thread sleeps: the searcher's compare-and-swap meets the exit.
 *               If the exit misses the victim, the search token is never returned. `carrier_wake`
 *               really sleeps.
 * Spec          specs/sched/Carrier.tla. */
#include "sched/carrier.h"

#include "base/error.h"
#include "base/futex.h"
#include "sched/poller.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 2 };

struct state {
	wp_domain domain;
	wp_carrier *by_index[CARRIERS];
	wp_carrier carriers[CARRIERS];
	wp_mpsc_node task;
	wp_poller poller; /* carrier 0's */
	int event;
};

static void init_domain(struct state *state, uint32_t count)
{
	wp_domain_init(&state->domain, state->by_index, count);
	for (uint32_t index = 0; index < count; index++)
		wp_carrier_init(&state->carriers[index], &state->domain, index);
}

/* Carrier 0 sleeps, carrier 1 has a task. */
STRESS_INIT(init_exit)
{
	wp_mpsc_node *stolen;

	init_domain(state, 2);
	wp_carrier_advertise(&state->carriers[0], WP_PARKED_FUTEX, &stolen);
	wp_mpsc_push(&state->carriers[1].queue, &state->task);
}

STRESS_ACTOR_CALL(leave, result->r[0] = wp_carrier_leave(&state->carriers[0]) != NULL)
STRESS_ACTOR_CALL(searcher, wp_search(&state->domain, 1))

/* 1 stands for the token, 2 for the ticket of the victim's queue. */
STRESS_ACTOR(read_kept)
{
	uint64_t ticket;

	result->r[1] = wp_load_relaxed(&state->domain.searching);
	if (!wp_biased_lock_try_acquire(&state->carriers[1].ticket, &ticket))
		result->r[1] += 2;
}

STRESS_TEST(
	carrier_exit,
	.claim = "A carrier that leaves its sleep serves the searcher that signalled it.",
	.upholds = "Carrier!NoSignalLostOnExit", .state_size = sizeof(struct state),
	.init = init_exit, .actors = {leave, searcher}, .arbiter = read_kept, .results = 2,
	.outcomes = {
		{"0,0", ACCEPTABLE, "the exit came first: the searcher found no idle carrier"},
		{"1,0", ACCEPTABLE,
		 "the carrier was signalled, stole one task and returned the token"},
		{"0,1", FORBIDDEN,
		 "lost signal: the victim was overwritten, and the token is never returned"},
		{"1,1", FORBIDDEN, "the carrier stole, and kept the token"},
		{"*,*", FORBIDDEN,
		 "the carrier stole, and kept the ticket: no thread gets at that queue any more"},
	});

/* Carrier 0 was sent to carrier 1 and holds the token. Result: "got the token, saw a searcher". */
STRESS_INIT(init_searching)
{
	init_exit(state);
	wp_search(&state->domain, 1);
}

STRESS_ACTOR(next_searcher)
{
	if (!wp_search_start(&state->domain))
		return;
	result->r[0] = 1;
	result->r[1] = wp_load_relaxed(&state->carriers[0].word) >= WP_SEARCHING;
}

STRESS_ACTOR_CALL(serve, wp_carrier_leave(&state->carriers[0]))

STRESS_TEST(carrier_token,
	    .claim = "A carrier that gets the search token finds no other search under way.",
	    .upholds = "Search!SearchingImpliesToken", .state_size = sizeof(struct state),
	    .init = init_searching, .actors = {serve, next_searcher}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "too early: the token is taken"},
		    {"1,0", ACCEPTABLE, "the token was returned by a carrier that runs"},
		    {"1,1", FORBIDDEN, "two searches are under way at once"},
	    });

/* Result: "would sleep, was woken". */
static void init_alone(void *at)
{
	init_domain(at, 1);
}

STRESS_ACTOR(advertise)
{
	wp_mpsc_node *stolen;

	result->r[0] = wp_carrier_advertise(&state->carriers[0], WP_PARKED_FUTEX, &stolen);
}

STRESS_ACTOR_CALL(submitter, wp_carrier_submit(&state->carriers[0], &state->task))
STRESS_ACTOR_CALL(read_word, result->r[1] = wp_load_relaxed(&state->carriers[0].word) == WP_WAKING)

STRESS_TEST(carrier_submission, .claim = "A carrier that goes to sleep sees the task, or is woken.",
	    .upholds = "Carrier!NoMissedSubmission", .state_size = sizeof(struct state),
	    .init = init_alone, .actors = {advertise, submitter}, .arbiter = read_word,
	    .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the carrier saw the task in its last check"},
		    {"1,1", ACCEPTABLE, "the carrier sleeps, and the submitter has woken it"},
		    {"1,0", LOST_WORK, "lost wakeup: the carrier sleeps with a task in its queue"},
		    {"0,1", FORBIDDEN,
		     "the carrier is awake, and its word says that a wake is under way"},
	    });

/* Carrier 1 puts back its only task. Result: "carrier 0 would sleep, was woken to search". */
static void init_pair(void *at)
{
	init_domain(at, 2);
}

STRESS_ACTOR_CALL(yield_alone, wp_carrier_reenqueue(&state->carriers[1], &state->task))
STRESS_ACTOR_CALL(read_sent,
		  result->r[1] = wp_load_relaxed(&state->carriers[0].word) >= WP_SEARCHING)

STRESS_TEST(carrier_yield, .claim = "A task that yields alone wakes no other carrier.",
	    .upholds = "Search!LoneYieldWakesNobody", .state_size = sizeof(struct state),
	    .init = init_pair, .actors = {advertise, yield_alone}, .arbiter = read_sent,
	    .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE,
		     "carrier 0 sleeps on: the task is its own carrier's next one"},
		    {"0,0", ACCEPTABLE, "carrier 0 saw the task in its last check, and took it"},
		    {"*,1", FORBIDDEN,
		     "spurious wakeup: carrier 0 was woken for a task that it cannot take"},
	    });

/* A real sleep and a real wakeup. Result: "task run". */
STRESS_ACTOR(run_one)
{
	wp_carrier *carrier = &state->carriers[0];
	wp_mpsc_node *task = wp_carrier_poll(carrier);

	while (task == NULL) {
		task = wp_carrier_park(carrier);
		if (task == NULL)
			task = wp_carrier_poll(carrier);
	}
	result->r[0] = 1;
}

STRESS_TEST(carrier_wake, .claim = "A submission reaches a sleeping carrier.",
	    .upholds = "Carrier!NoMissedSubmission", .state_size = sizeof(struct state),
	    .init = init_alone, .actors = {run_one, submitter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the task ran"},
		    {"asleep", FORBIDDEN, "lost wakeup"},
	    });

/* The carrier sleeps in a poller. Result: "would block, was woken, eventfd readable". */
static void signal_event(void *arg)
{
	wp_event_signal(*(int *)arg);
}

STRESS_INIT(init_poller)
{
	init_domain(state, 1);
	state->event = wp_event_open();
	state->poller = (wp_poller){.config = {.wakeup = signal_event, .arg = &state->event}};
	state->carriers[0].poller = &state->poller;
}

static void fini_poller(void *at)
{
	wp_event_close(((struct state *)at)->event);
}

STRESS_ACTOR(advertise_poller)
{
	wp_mpsc_node *stolen;

	result->r[0] = wp_carrier_advertise(&state->carriers[0], WP_PARKED_POLLER, &stolen);
}

STRESS_ACTOR(read_eventfd)
{
	read_word(state, result);
	result->r[2] = wp_event_take(state->event);
}

STRESS_TEST(
	carrier_poller, .claim = "A wakeup reaches the place where the carrier sleeps.",
	.upholds = "Carrier!WakeReachesSleeper", .state_size = sizeof(struct state),
	.init = init_poller, .fini = fini_poller, .actors = {advertise_poller, submitter},
	.arbiter = read_eventfd, .results = 3, .blocking = 1,
	.outcomes = {
		{"1,1,1", ACCEPTABLE,
		 "the carrier blocks in its poller, and the eventfd ends that"},
		{"0,0,0", ACCEPTABLE, "the carrier saw the task in its last check"},
		{"0,0,1", INTERESTING,
		 "the carrier was woken while it checked: it reads the eventfd next time"},
		{"1,1,0", FORBIDDEN,
		 "lost wakeup: the wake went to the futex, and the carrier blocks in its poller"},
		{"1,0,*", FORBIDDEN, "missed"},
	});

/* The queue has four tasks, and a pinned one arrives. Result: "tasks polled, the pinned one among
 * them". */
struct turns {
	wp_carrier carrier;
	wp_mpsc_node tasks[4], pinned;
};

STRESS_INIT_OF(turns, init_turns)
{
	wp_carrier_init(&state->carrier, NULL, 0);
	for (int task = 0; task < 4; task++)
		wp_mpsc_push(&state->carrier.queue, &state->tasks[task]);
}

STRESS_ACTOR_OF(turns, pinner)
{
	wp_carrier_submit_pinned(&state->carrier, &state->pinned);
}

STRESS_ACTOR_OF(turns, poll_two)
{
	for (int turn = 0; turn < 2; turn++) {
		wp_mpsc_node *node = wp_carrier_poll(&state->carrier);

		result->r[0] += node != NULL;
		result->r[1] += node == &state->pinned;
	}
}

static void poll_two_more(void *at, stress_result *result)
{
	poll_two(at, result);
}

STRESS_TEST(carrier_turns, .claim = "A pinned task is polled even if the queue never empties.",
	    .upholds = "Search!PublishedIsTaken", .state_size = sizeof(struct turns),
	    .init = init_turns, .actors = {pinner, poll_two}, .arbiter = poll_two_more,
	    .results = 2,
	    .outcomes = {
		    {"4,1", REQUIRED, "the carrier polls queue and inbox in turn"},
		    {"*,*", FORBIDDEN,
		     "starvation: the pinned task waits until the queue is empty"},
	    });

/* The inbox has four tasks, and one arrives in the queue. Result: "tasks polled, that one among
 * them". */
STRESS_INIT_OF(turns, init_turns_back)
{
	wp_carrier_init(&state->carrier, NULL, 0);
	for (int task = 0; task < 4; task++)
		wp_carrier_submit_pinned(&state->carrier, &state->tasks[task]);
}

STRESS_ACTOR_OF(turns, queuer)
{
	wp_mpsc_push(&state->carrier.queue, &state->pinned);
}

STRESS_TEST(carrier_turns_back,
	    .claim = "A task in the queue is polled even if the inbox never empties.",
	    .upholds = "Search!PublishedIsTaken", .state_size = sizeof(struct turns),
	    .init = init_turns_back, .actors = {queuer, poll_two}, .arbiter = poll_two_more,
	    .results = 2,
	    .outcomes = {
		    {"4,1", REQUIRED, "the carrier polls queue and inbox in turn"},
		    {"*,*", FORBIDDEN,
		     "starvation: the task in the queue waits until the inbox is empty"},
	    });
