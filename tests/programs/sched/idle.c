/* SPDX-License-Identifier: Apache-2.0
 * idle.c CASE - a carrier that has nothing to run, or little. Most cases lay its state out by hand.
 * Link with -Wl,--wrap= of wp__search_around, wp__worker_park and wp__worker_probe. Prints what is
 * lost. */
#include "sched/placement/group_placement.h"
#include "sched/run_queues.h"
#include "../case_main.h"
#include "sched/search.h"
#include "sched/worker.h"

/* Two carriers of one domain, moved by hand. */
static wp_carrier carriers[2];
static wp_domain domain;
static wp_mpsc_node tasks[3];

static void lay_out(void)
{
	static wp_carrier *by_index[] = {&carriers[0], &carriers[1]};

	wp_domain_init(&domain, by_index, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_init(&carriers[index], &domain, index);
}

/* A sleeper was woken for its one task, and has not come to it. No other carrier looks for that
 * task. */
static bool is_found(wp_carrier *searcher, uint32_t wanted)
{
	uint32_t victim = UINT32_MAX;

	return wp__search_around(searcher, &victim) && victim == wanted;
}

CASE(woken)
{
	lay_out();
	check(!is_found(&carriers[0], 1), "that there is nothing");
	wp_store_relaxed(&carriers[1].word, WP_WAKING);
	wp_mpsc_push(&carriers[1].queue, &tasks[0]);
	check(!is_found(&carriers[0], 1), "what it was woken for");
	wp_store_relaxed(&carriers[1].word, WP_RUNNING);
	check(is_found(&carriers[0], 1), "one task of a carrier that runs");
	wp_store_relaxed(&carriers[1].word, WP_WAKING);
	wp_mpsc_push(&carriers[1].inbox, &tasks[1]);
	check(is_found(&carriers[0], 1), "a task beside what it alone may take");
	check(wp_mpsc_pop(&carriers[1].inbox) == &tasks[1], "that one");
	wp_mpsc_push(&carriers[1].queue, &tasks[2]);
	check(is_found(&carriers[0], 1), "a second task");
}

static wp_mpsc_node *late; /* comes to carrier 0 after another one has announced its park */

bool __real_wp__search_around(wp_carrier *carrier, uint32_t *victim);
bool __wrap_wp__search_around(wp_carrier *carrier, uint32_t *victim);
bool __wrap_wp__search_around(wp_carrier *carrier, uint32_t *victim)
{
	if (late != NULL) {
		wp_carrier_submit(&carriers[0], late);
		check(wp_load_relaxed(&carrier->word) == WP_SEARCHING, "who is sent to carrier 0");
		late = NULL;
	}
	return __real_wp__search_around(carrier, victim);
}

/* A carrier is sent to the first one while it looks around, and finds the task for which it is
 * sent. It takes that task, and lets others be sent. */
CASE(sent)
{
	wp_mpsc_node *stolen;

	lay_out();
	late = &tasks[0];
	check(!wp_carrier_advertise(&carriers[1], WP_PARKED_FUTEX, &stolen),
	      "that it does not sleep");
	check(late == NULL && stolen == &tasks[0], "what it was sent for");
	check(wp_search_start(&domain), "that the next may be sent");
}

/* Carrier 1, whose last steals were in vain, parks beside carrier 0, which has that many tasks. */
static bool parks_beside(int many, uint32_t place, wp_mpsc_node **stolen)
{
	lay_out();
	carriers[1].delay_ns = 1000;
	for (int at = 0; at < many; at++)
		wp_mpsc_push(&carriers[0].queue, &tasks[at]);
	return wp_carrier_advertise(&carriers[1], place, stolen);
}

/* Such a carrier puts off the steal of the only task of a carrier that runs. */
CASE(put_off)
{
	wp_mpsc_node *stolen;

	check(parks_beside(1, WP_PARKED_FUTEX, &stolen), "that it sleeps");
	check(!wp_search_start(&domain), "that nobody else is sent");
	check(wp__carrier_until(&carriers[1], WP_FOREVER) < WP_FOREVER, "that it sleeps not long");
	check(wp__carrier_until(&carriers[1], 1) == 1, "nor past its own timers");
	check(!wp_carrier_put_off(&carriers[1]), "that it does so once");
	check(wp_carrier_leave(&carriers[1]) == &tasks[0], "the task");
	check(wp_search_start(&domain), "that the next may be sent");
}

CASE(at_once)
{
	wp_mpsc_node *stolen;

	check(!parks_beside(2, WP_PARKED_FUTEX, &stolen) && stolen == &tasks[0], "one of two");
	check(!parks_beside(1, WP_PARKED_POLLER, &stolen) && stolen == &tasks[0],
	      "what it finds as it parks in its poller");
	lay_out();
	wp_mpsc_push(&carriers[0].queue, &tasks[0]);
	check(!wp_carrier_advertise(&carriers[1], WP_PARKED_FUTEX, &stolen) && stolen == &tasks[0],
	      "what it finds if its last steal was worth it");
	lay_out();
	carriers[1].delay_ns = 1000;
	wp_store_relaxed(&carriers[0].word, WP_PARKED_FUTEX);
	wp_mpsc_push(&carriers[0].queue, &tasks[0]);
	check(!wp_carrier_advertise(&carriers[1], WP_PARKED_FUTEX, &stolen) && stolen == &tasks[0],
	      "the task of a carrier that does not run");
	lay_out();
	carriers[1].delay_ns = 1000;
	check(wp_search_start(&domain), "the token");
	wp_mpsc_push(&carriers[0].queue, &tasks[0]);
	check(!wp_carrier_advertise(&carriers[1], WP_PARKED_FUTEX, &stolen) && stolen == &tasks[0],
	      "a task while another carrier is sent");
}

/* A carrier that is sent puts the steal off, too, but not beside a task of its own. */
CASE(sent_early)
{
	wp_mpsc_node *stolen;

	check(parks_beside(0, WP_PARKED_FUTEX, &stolen), "that it sleeps");
	wp_carrier_submit_internal(&carriers[0], &tasks[0]);
	check(wp_carrier_put_off(&carriers[1]), "that it sleeps again");
	check(wp_load_relaxed(&carriers[1].word) == WP_PARKED_FUTEX, "that it can be woken");
	wp_carrier_submit(&carriers[1], &tasks[1]);
	check(wp_load_relaxed(&carriers[1].word) == WP_WAKING, "that its own task wakes it");
	check(wp_carrier_leave(&carriers[1]) == &tasks[0], "what it was sent for");
	check(wp_carrier_poll(&carriers[1]) == &tasks[1], "its own task");
	check(parks_beside(0, WP_PARKED_FUTEX, &stolen), "that it sleeps");
	wp_carrier_submit_internal(&carriers[0], &tasks[0]);
	wp_carrier_submit(&carriers[1], &tasks[1]);
	check(!wp_carrier_put_off(&carriers[1]), "that it does not sleep beside its own task");
	check(wp_carrier_leave(&carriers[1]) == &tasks[0], "what it was sent for");
	check(wp_search_start(&domain), "that the next may be sent");
}

/* A chain of threads, each of which starts the next: whoever steals one learns that it was not worth
 * it. A long thread is, and the one who steals it forgets. */
static wp_group *chain;
static wp_atomic(uint32_t) has_learnt, has_forgotten;

static bool is_delaying(void)
{
	return wp__worker_self()->home.carrier.delay_ns > 0;
}

static void starts(int (*run)(void *))
{
	wp_vthread_config config = {.run = run, .carrier = WP_VTHREAD_HERE};
	wp_vthread *thread;

	check(wp_vthread_new(chain, &config, &thread) == WP_OK, "a thread");
	check(wp_vthread_start(thread) == WP_OK, "its start");
	wp_vthread_free(thread);
}

static int is_long(void *arg)
{
	int64_t end_ns = wp_clock_ns() + 1000000;

	while (wp_clock_ns() < end_ns)
		wp_pause();
	return arg != NULL;
}

static int goes_on(void *arg)
{
	if (is_delaying())
		wp_store_relaxed(&has_learnt, 1);
	else if (wp_load_relaxed(&has_learnt) != 0)
		wp_store_relaxed(&has_forgotten, 1);
	if (wp_load_relaxed(&has_learnt) != 0) {
		starts(is_long);
		starts(is_long);
	}
	if (wp_load_relaxed(&has_forgotten) == 0)
		starts(goes_on);
	return arg != NULL;
}

CASE(learns)
{
	wp_group_config config = {.carriers = 2, .yield_us = 50, .work_stealing = true};

	check(wp_group_new(&chain, &config) == WP_OK, "a group");
	starts(goes_on);
	AWAIT(wp_load_relaxed(&has_forgotten) != 0, "what a steal was worth");
	check(wp_group_close(chain, patience(), false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(chain);
}

/* A thread is woken from carrier 0 while carrier 1, its home, sleeps. It continues at the waker's,
 * unless it is pinned. */
static wp_vthread *sleeper;

static int sleeps(void *arg)
{
	(void)arg;
	wp_vthread_park_until(WP_FOREVER);
	return wp_group_home(chain);
}

static int wakes(void *arg)
{
	(void)arg;
	while (!wp__is_parked(wp_load_relaxed(&chain->workers[1].home.carrier.word)))
		wp_pause();
	wp_vthread_unpark(sleeper);
	return 0;
}

static int home_after(bool is_pinned)
{
	wp_vthread_config asleep = {.run = sleeps, .carrier = 1, .is_pinned = is_pinned},
			  awake = {.run = wakes, .carrier = 0, .is_pinned = true};
	wp_vthread *waker;
	int home, failure;

	check(wp_vthread_new(chain, &asleep, &sleeper) == WP_OK, "a thread that sleeps");
	check(wp_vthread_new(chain, &awake, &waker) == WP_OK, "a thread that wakes it");
	check(wp_vthread_start(sleeper) == WP_OK, "its start");
	while ((wp__vthread_look(sleeper) & WP_VTHREAD_STATE) != WP_TASK_PARKED)
		wp_yield();
	check(wp_vthread_start(waker) == WP_OK, "the start of the other");
	check(wp_vthread_join(sleeper, patience(), &home) == WP_OK, "its end");
	check(wp_vthread_join(waker, patience(), &failure) == WP_OK, "the end of the other");
	wp_vthread_free(sleeper);
	wp_vthread_free(waker);
	return home;
}

CASE(moves)
{
	wp_group_config config = {.carriers = 2, .yield_us = 50, .work_stealing = true};

	check(wp_group_new(&chain, &config) == WP_OK, "a group");
	check(home_after(false) == 0, "that it continues at the waker's");
	check(home_after(true) == 1, "that a pinned one stays");
	check(wp_group_close(chain, patience(), false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(chain);
}

/* Tasks that others push, again and again, alternate with tasks that a carrier has pushed to
 * itself. */
CASE(turns)
{
	static wp_mpsc_node others[4], own[4];
	static wp_carrier_tasks home;

	wp_carrier_tasks_init(&home, NULL, 0);
	for (int at = 0; at < 4; at++) {
		wp_mpsc_push(&home.carrier.queue, &others[at]);
		wp_private_fifo_push(&home.carrier.private_fifo, &own[at]);
	}
	for (int at = 0; at < 4; at++) {
		wp_mpsc_node *first = wp_carrier_poll(&home.carrier),
			     *second = wp_carrier_poll(&home.carrier);

		check((first == &others[at] && second == &own[at]) ||
			      (first == &own[at] && second == &others[at]),
		      "a turn for each");
	}
	check(wp_carrier_poll(&home.carrier) == NULL, "that there is no more");
}

/* A carrier with one sibling looks there. */
CASE(probed)
{
	static wp_worker workers[2];
	static wp_carrier *by_index[2];
	static wp_group one;
	static wp_task task;

	for (uint32_t index = 0; index < 2; index++)
		by_index[index] = &workers[index].home.carrier;
	wp_domain_init(&domain, by_index, 2);
	for (uint32_t index = 0; index < 2; index++) {
		wp_carrier_tasks_init(&workers[index].home, &domain, index);
		workers[index].group = &one;
		workers[index].random = index + 1;
	}
	for (uint32_t turn = 0; turn < 8; turn++) {
		uint32_t here = turn % 2;

		task.home = &workers[!here].home;
		wp_mpsc_push(&by_index[!here]->queue, &task.node);
		check(wp__worker_probe(&workers[!here]) == NULL, "that nobody robs himself");
		check(wp__worker_probe(&workers[here]) == &task.node, "what a sibling has");
		check(wp__worker_probe(&workers[here]) == NULL, "that it has no more");
	}
}

/* A moved task; carrier 0, which is parked; and carrier 1, an idle spare. */
static wp_worker *lay_out_moved(void)
{
	static wp_worker workers[2];
	static wp_group_placement placed;
	static wp_placement_slot slots[2];
	static wp_group one = {.workers = workers, .placed = &placed};

	placed.group = &one;
	wp_placement_init(&placed.placement, slots, 2, WP_PLACE_HOME, false);
	for (uint32_t index = 0; index < 2; index++) {
		wp_carrier_tasks_init(&workers[index].home, NULL, index);
		workers[index].group = &one;
		workers[index].index = index;
	}
	wp_store_relaxed(&workers[0].home.carrier.word, WP_PARKED_FUTEX);
	wp_store_relaxed(&slots[1].word, WP_PLACE_DORMANT);
	wp_placement_spilled(&placed.placement, 1);
	return workers;
}

/* A parked carrier looks for moved tasks, and sleeps if they are not for it. */
CASE(rests)
{
	wp_worker *workers = lay_out_moved();

	check(!wp__group_placement_rest(&workers[0]), "that it does not sleep");
	check(wp__group_placement_rest(&workers[1]), "that a dormant one does");
}

/* A carrier that was woken for a moved task, and is an idle spare by now, leaves the task, and
 * wakes another one. */
CASE(dormant)
{
	wp_worker *workers = lay_out_moved();

	check(wp__group_placement_take(&workers[1]) == NULL, "that it takes nothing");
	check(wp_load_relaxed(&workers[0].home.carrier.word) == WP_WAKING, "that another is woken");
}

/* A carrier is woken, and finds nothing. The waker may be about to push, and relies on it. So it
 * takes nothing from others before it sleeps again. */
enum { NUDGES = 5 };

static bool is_nudged;               /* in this case no task runs */
static _Thread_local bool has_woken; /* from a park that brought nothing */

wp_mpsc_node *__real_wp__worker_park(wp_worker *mine);
wp_mpsc_node *__wrap_wp__worker_park(wp_worker *mine);
wp_mpsc_node *__wrap_wp__worker_park(wp_worker *mine)
{
	wp_mpsc_node *node = __real_wp__worker_park(mine);

	has_woken = node == NULL;
	return node;
}

wp_mpsc_node *__real_wp__worker_probe(wp_worker *mine);
wp_mpsc_node *__wrap_wp__worker_probe(wp_worker *mine);
wp_mpsc_node *__wrap_wp__worker_probe(wp_worker *mine)
{
	check(!is_nudged || !has_woken, "that who was woken takes nothing from others");
	return __real_wp__worker_probe(mine);
}

CASE(nudged)
{
	wp_group_config config = {.carriers = 2, .yield_us = 50, .work_stealing = true};
	wp_atomic(uint32_t) *word;
	wp_group *group;

	is_nudged = true;
	check(wp_group_new(&group, &config) == WP_OK, "a group");
	word = &group->workers[0].home.carrier.word;
	for (int nudge = 0; nudge < NUDGES; nudge++) {
		uint64_t parks = wp_group_counts(group, 0).parks;

		while (!wp_timers_nudge(&group->workers[0].home.carrier))
			wp_yield();
		while (wp_group_counts(group, 0).parks == parks ||
		       wp_load_acquire(word) != WP_PARKED_FUTEX)
			wp_yield();
	}
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(group);
}
