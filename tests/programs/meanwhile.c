/* SPDX-License-Identifier: Apache-2.0
 * meanwhile.c CASE - what another thread does between two steps of one: the case wraps the call that is
 * between them, or lays the state out by hand. Link with -Wl,--wrap= of wp__placed_rest,
 * wp__pool_wait, wp__search_around, wp_futex_wake and wp_placement_suspect. Prints what is lost. */
#include "channel.h"
#include "condition.h"
#include "parker.h"
#include "placed_case.h"
#include "poller.h"
#include "pool.h"
#include "search.h"

enum { LOOKS = 3, HELD_MS = 20 };

static wp_pool *pool;
static wp_atomic(uint32_t) has_lock;
static bool is_held_up;
static pthread_t holder;

/* Has the lock for a while: what it guards stays as it is. */
static void *holds_lock(void *arg)
{
	int64_t until_ns = in_ms(HELD_MS);
	wp_pool_thread *gone;

	wp_lock_acquire(&pool->lock);
	gone = pool->gone;
	wp_store_release(&has_lock, 1);
	while (pool->gone == gone && wp_clock_ns() < until_ns)
		wp_yield();
	check(pool->gone == gone, "that it is changed under the lock alone");
	wp_lock_release(&pool->lock);
	return arg;
}

int __real_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside);
int __wrap_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside);
int __wrap_wp__pool_wait(wp_pool *of, int64_t deadline_ns, bool is_inside)
{
	int code = __real_wp__pool_wait(of, deadline_ns, is_inside);

	if (code == WP_OK && is_held_up) {
		pthread_create(&holder, NULL, holds_lock, NULL);
		await(&has_lock, 1);
	}
	return code;
}

/* A pool has ended, and another thread asks for it, too: the last thread is joined once. */
static void case_waited(void)
{
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = config.max = 1;
	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
	is_held_up = true;
	check(wp_pool_stop(pool, in_ms(PATIENCE_S * 1000)) == WP_OK, "its stop");
	pthread_join(holder, NULL);
	is_held_up = false;
	wp_pool_free(pool);
}

static wp_atomic(uint32_t) looks;

bool __wrap_wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
				 uint64_t step);
bool __wrap_wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
				 uint64_t step)
{
	(void)placement;
	(void)carrier;
	(void)progress;
	(void)step;
	wp_fetch_add_release(&looks, 1);
	return false;
}

/* The step ends while the supervisor looks: nobody is suspected, and nothing moves. */
static void case_suspected(void)
{
	wp_vthread_config config = {.run = nothing, .carrier = 0};
	wp_vthread *one, *behind;

	open_placed((wp_group_config){.carriers = 2, .placement = WP_PLACE_HOME, .supervise_ms = 1});
	one = hold(0, false);
	behind = start_as(&config);
	await(&looks, LOOKS);
	check(wp_group_placement_counts(group, 0).suspects == 0, "who ended in time");
	check(wp_group_placement_counts(group, 0).moved == 0, "what is behind it");
	wp_store_release(&lets_go, 1);
	join(one, "the holder");
	join(behind, "who is behind");
	close_placed();
}

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

/* Who sleeps was woken for its one task, and has not come to it: nobody else looks for that one. */
static bool is_found(wp_carrier *searcher, uint32_t wanted)
{
	uint32_t victim = UINT32_MAX;

	return wp__search_around(searcher, &victim) && victim == wanted;
}

static void case_woken(void)
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

static wp_mpsc_node *late; /* comes to carrier 0 after another has said that it parks */

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

/* A carrier is sent to the first one while it looks around and finds what it is sent for: it takes
 * that, and lets others be sent. */
static void case_sent(void)
{
	wp_mpsc_node *stolen;

	lay_out();
	late = &tasks[0];
	check(!wp_carrier_advertise(&carriers[1], WP_PARKED_FUTEX, &stolen), "that it does not sleep");
	check(late == NULL && stolen == &tasks[0], "what it was sent for");
	check(wp_search_start(&domain), "that the next may be sent");
}

/* What others push, again and again, and what a carrier has pushed to itself take turns. */
static void case_turns(void)
{
	static wp_mpsc_node others[4], own[4];
	static wp_home home;

	wp_home_init(&home, NULL, 0);
	for (int at = 0; at < 4; at++) {
		wp_mpsc_push(&home.carrier.queue, &others[at]);
		wp_lane_push(&home.lane, &own[at]);
	}
	for (int at = 0; at < 4; at++) {
		wp_mpsc_node *first = wp__home_poll(&home), *second = wp__home_poll(&home);

		check((first == &others[at] && second == &own[at]) ||
			      (first == &own[at] && second == &others[at]),
		      "a turn for each");
	}
	check(wp__home_poll(&home) == NULL, "that there is no more");
}

/* Whoever has only one sibling looks there. */
static void case_probed(void)
{
	static wp_worker workers[2];
	static wp_carrier *by_index[2];
	static wp_group one;
	static wp_task task;

	for (uint32_t index = 0; index < 2; index++)
		by_index[index] = &workers[index].home.carrier;
	wp_domain_init(&domain, by_index, 2);
	for (uint32_t index = 0; index < 2; index++) {
		wp_home_init(&workers[index].home, &domain, index);
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

/* A waiter that was signalled, and waits for the mutex, is interrupted: it gets the mutex, and is
 * interrupted still. */
static wp_mutex mutex;
static wp_condition condition;

static int waits(void *arg)
{
	int code;

	wp_mutex_lock(&mutex);
	code = wp_condition_wait_until(&condition, &mutex, in_ms(PATIENCE_S * 1000));
	wp_mutex_unlock(&mutex);
	check(code == WP_OK, "a signal");
	return arg == NULL && wp_vthread_is_interrupted(wp_vthread_current());
}

static bool has_waiter(void)
{
	bool has;

	wp_lock_acquire(&condition.lock);
	has = condition.line.first != NULL;
	wp_lock_release(&condition.lock);
	return has;
}

static void case_interrupted(void)
{
	int64_t until_ns = in_ms(PATIENCE_S * 1000);
	wp_vthread *waiter;

	open_group(1, false, 0);
	waiter = start(waits, NULL);
	while (!has_waiter())
		wp_yield();
	wp_mutex_lock(&mutex);
	wp_condition_signal(&condition);
	wp_vthread_interrupt(waiter);
	while (wp_vthread_is_interrupted(waiter) && wp_clock_ns() < until_ns)
		wp_yield(); /* until it has seen that, and waits on */
	wp_mutex_unlock(&mutex);
	check(join(waiter, "who waits") == 1, "an interrupt");
	close_group();
}

/* Something moves while a poller is about to sleep: its carrier has not parked. */
static wp_atomic(uint32_t) has_looked;
static bool moves_now;

bool __real_wp__placed_rest(wp_worker *mine);
bool __wrap_wp__placed_rest(wp_worker *mine);
bool __wrap_wp__placed_rest(wp_worker *mine)
{
	if (!moves_now)
		return __real_wp__placed_rest(mine);
	moves_now = false;
	wp_store_release(&has_looked, 1);
	return false;
}

static int polls(void *arg)
{
	while (wp_poller_maybe_yield(false) != WP_CLOSED) {
		moves_now = wp_load_relaxed(&has_looked) == 0;
		if (moves_now) {
			check(wp_poller_try_park() == WP_AGAIN, "that it may not park now");
			check(!wp_poller_can_park(), "that its carrier is not parked");
		}
		moves_now = false;
		wp_yield();
	}
	return arg != NULL;
}

static void wakes(void *arg)
{
	(void)arg;
}

static void case_moved(void)
{
	wp_poller_config config = {.name = "poller", .run = polls, .wakeup = wakes};
	wp_vthread *poller;

	open_group(1, false, 0);
	check(wp_poller_register(group, 0, &config, &poller) == WP_OK, "a poller");
	await(&has_looked, 1);
	check(wp_group_close(group, in_ms(PATIENCE_S * 1000), false, NULL, NULL) == WP_OK, "the close");
	check(join(poller, "the poller") == 0, "its end");
	wp_group_free(group);
}

/* A scheduler that is told who goes on may use the channel: it is told when the lock is free. */
static wp_channel channel;
static wp_vthread *goes_on;
static uint32_t told;

static void is_told(void *arg, wp_vthread *thread)
{
	(void)arg;
	check(wp_load_relaxed(&channel.lock.state) == 0, "that the channel is free");
	goes_on = thread;
	told++;
}

static int sends(void *arg)
{
	return wp_channel_send_until(&channel, arg, WP_FOREVER);
}

static int receives(void *arg)
{
	return wp_channel_receive_until(&channel, arg, WP_FOREVER);
}

static void case_told(void)
{
	static const wp_scheduler scheduler = {.submit = is_told};
	static int (*const waits_there[])(void *) = {sends, receives};

	open_group(1, false, 0);
	for (int side = 0; side < 2; side++) {
		void *item = NULL;
		wp_vthread_config config = {.run = waits_there[side], .arg = &item,
					    .scheduler = &scheduler};
		wp_vthread *one;

		wp_channel_init(&channel, NULL, 0);
		told = 0;
		one = start_as(&config);
		check(told == 1 && wp_vthread_run(goes_on) == WP_OK, "a run");
		wp_channel_close(&channel);
		check(told == 2 && wp_vthread_run(goes_on) == WP_OK, "a run after the close");
		check(join(one, "who waited") == WP_CLOSED, "that it is closed");
		wp_channel_fini(&channel);
	}
	close_group();
}

/* Nobody sleeps there: a permit takes no system call. */
static _Thread_local uint32_t calls;

int __real_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of);
int __wrap_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of);
int __wrap_wp_futex_wake(wp_atomic(uint32_t) *word, int count_of)
{
	calls++;
	return __real_wp_futex_wake(word, count_of);
}

static void case_quiet(void)
{
	wp_parker parker;

	wp_parker_init(&parker);
	for (int turn = 0; turn < 2; turn++)
		check(wp_parker_unpark(&parker) == (turn == 0), "a permit");
	check(calls == 0, "that nobody is woken");
	check(wp_parker_park_until(&parker, 0) == WP_OK, "the permit");
	check(wp_parker_park_until(&parker, 0) == WP_TIMEOUT, "that it was one");
	wp_parker_close(&parker);
	check(calls == 0, "that nobody is woken");
	check(wp_parker_park_until(&parker, WP_FOREVER) == WP_CLOSED, "its close");
}

int main(int argc, char **argv)
{
	static const one_case cases[] = {{"waited", case_waited}, {"suspected", case_suspected},
					 {"woken", case_woken}, {"sent", case_sent},
					 {"turns", case_turns}, {"probed", case_probed},
					 {"interrupted", case_interrupted}, {"moved", case_moved},
					 {"told", case_told}, {"quiet", case_quiet}};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
