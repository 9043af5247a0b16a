/* SPDX-License-Identifier: Apache-2.0
 * placement.c CASE - the carriers that submitters choose, and the counts. Prints what is lost.
 *
 *   cycles POLICY AT_DEQUEUE CARRIERS TASKS SEED   threads submit, run, steal, block at once
 *
 * Why it works  Queues are numbers, and pushes and pops are read-modify-writes of them. In the end
 *               nothing is queued, and each count must be 0. */
#include "../../case.h"
#include "../../chance.h"
#include "sched/placement/placement.h"

enum { CARRIERS = 64, SUBMITTERS = 2, DRAWS = 64000 };

static wp_placement placement;
static wp_placement_slot slots[CARRIERS];
static wp_atomic(uint32_t) queues[CARRIERS], global, idle[CARRIERS], ran;
static uint32_t carriers, tasks, members[CARRIERS], ends[2];
static int64_t deadline_ns;

/* In two clusters, of every second carrier. */
static void init(enum wp_placement_policy policy, uint32_t count, bool at_dequeue)
{
	uint32_t end = 0;

	carriers = count;
	wp_placement_init(&placement, slots, count, policy, at_dequeue);
	for (uint32_t carrier = 0; carrier < count; carrier += 2)
		members[end++] = carrier;
	ends[0] = end;
	for (uint32_t carrier = 1; carrier < count; carrier += 2)
		members[end++] = carrier;
	ends[1] = end;
	wp_placement_clusters(&placement, members, ends, count > 1 ? 2 : 1);
}

static void load(uint32_t carrier, uint32_t many)
{
	while (many-- > 0)
		wp_placement_submitted(&placement, carrier);
}

/* Equal loads: each carrier gets about as many tasks as any other. */
CASE(ties)
{
	for (enum wp_placement_policy policy = WP_PLACE_TWO_CHOICES; policy < WP_PLACE_POLICIES;
	     policy++) {
		uint32_t chosen[8] = {0};
		uint64_t random = 1;

		init(policy, 8, false);
		for (int each = 0; each < DRAWS; each++)
			chosen[wp_placement_choose(&placement, 0, &random)]++;
		for (int carrier = 0; carrier < 8; carrier++)
			check(chosen[carrier] > DRAWS / 16 && chosen[carrier] < DRAWS / 4,
			      "that equal loads are chosen in turn");
	}
}

/* Of two carriers the one with the lower load is chosen each time, so both were read. */
CASE(two)
{
	uint64_t random = 1;

	init(WP_PLACE_TWO_CHOICES, 2, false);
	load(1, 1);
	for (int each = 0; each < DRAWS; each++)
		check(wp_placement_choose(&placement, 0, &random) == 0, "that two are read");
}

/* The lowest load, on whatever carrier; a load below 0 counts as 0. */
CASE(least)
{
	uint32_t chosen[4] = {0};
	uint64_t random = 1;

	init(WP_PLACE_LEAST_LOADED, CARRIERS, false);
	for (uint32_t carrier = 0; carrier < CARRIERS; carrier++)
		load(carrier, carrier == 41 ? 1 : 2);
	for (int each = 0; each < 1000; each++)
		check(wp_placement_choose(&placement, 0, &random) == 41,
		      "that the least is chosen");

	init(WP_PLACE_LEAST_LOADED, 4, false);
	wp_placement_moved(&placement, 2, 3);
	check(wp_placement_load(&placement, 2) == 0, "that a load below 0 is shown as 0");
	for (int each = 0; each < DRAWS; each++)
		chosen[wp_placement_choose(&placement, 0, &random)]++;
	for (int carrier = 0; carrier < 4; carrier++)
		check(chosen[carrier] > DRAWS / 8, "that a load below 0 is none that is less");
}

/* All but one are marked, then all. */
CASE(marked)
{
	for (enum wp_placement_policy policy = WP_PLACE_HOME; policy < WP_PLACE_POLICIES; policy++)
		for (uint32_t free = 0; free < 8; free++) {
			uint64_t random = free + 1;

			init(policy, 8, false);
			load(free, 9);
			for (uint32_t carrier = 0; carrier < 8; carrier++)
				check(carrier == free || wp_placement_mark(&placement, carrier),
				      "that a mark is new");
			for (uint32_t home = 0; home < 800; home++)
				check(wp_placement_choose(&placement, home % 8, &random) == free,
				      "that who is marked is not chosen");
			wp_placement_mark(&placement, free);
			check(!wp_placement_mark(&placement, free), "that a mark is not new");
			check(wp_placement_choose(&placement, free, &random) == WP_PLACE_GLOBAL,
			      "that nobody is left");
			wp_placement_unmark(&placement, 3);
			check(wp_placement_choose(&placement, 0, &random) == 3, "who has blocked");
		}
}

static uint32_t take(wp_atomic(uint32_t) *queue, bool is_all)
{
	uint32_t many = wp_load_acquire(queue);

	while (many > 0)
		if (wp_cas_acquire(queue, &many, is_all ? 0 : many - 1))
			return is_all ? many : 1;
	return 0;
}

static void spill(uint32_t many)
{
	wp_fetch_add_release(&global, many);
	wp_placement_spilled(&placement, many);
	wp_fence_seq_cst();
	for (uint32_t carrier = 0; carrier < carriers; carrier++)
		if (wp_exchange_acq_rel(&idle[carrier], 0) == 1)
			return;
}

static void move(uint32_t carrier)
{
	uint32_t many = take(&queues[carrier], true);

	if (many == 0)
		return;
	wp_placement_moved(&placement, carrier, many);
	spill(many);
}

static void *submitter(void *arg)
{
	uint64_t random = (uintptr_t)arg * 77 + seed + 1;

	for (uint32_t task = 0; task < tasks; task++) {
		uint32_t carrier = wp_placement_choose(&placement, 0, &random);

		if (carrier == WP_PLACE_GLOBAL) {
			spill(1);
			continue;
		}
		wp_fetch_add_release(&queues[carrier], 1);
		if (!wp_placement_submitted(&placement, carrier))
			move(carrier);
	}
	return NULL;
}

static void run(uint32_t carrier, uint64_t *random)
{
	if (draw(random, 8) == 0) {
		check(wp_placement_mark(&placement, carrier), "that a mark is new");
		move(carrier);
		wp_yield();
		wp_placement_unmark(&placement, carrier);
	}
	wp_placement_ends(&placement, carrier);
	wp_fetch_add_release(&ran, 1);
}

static void look(uint32_t carrier)
{
	uint32_t many = wp_placement_has_global(&placement) ? take(&global, true) : 0;

	if (many == 0)
		return;
	wp_fetch_add_release(&queues[carrier], many);
	wp_placement_drained(&placement, carrier, many);
}

static bool is_over(void)
{
	return wp_load_acquire(&ran) == SUBMITTERS * tasks || wp_clock_ns() > deadline_ns;
}

/* Idle until it is woken, for a global task or for its own; or for a while, and then it may
 * steal. */
static void rest(uint32_t carrier, uint32_t turns)
{
	wp_exchange_acq_rel(&idle[carrier], 1);
	wp_fence_seq_cst();
	if (!wp_placement_has_global(&placement))
		while (wp_load_acquire(&idle[carrier]) == 1 &&
		       wp_load_acquire(&queues[carrier]) == 0 && turns-- > 0 && !is_over())
			wp_yield();
	wp_exchange_acq_rel(&idle[carrier], 0);
}

static void *member(void *arg)
{
	uint32_t carrier = (uint32_t)(uintptr_t)arg, victim;
	uint64_t random = (uintptr_t)arg * 99 + seed + 7;

	while (!is_over()) {
		look(carrier);
		victim = draw(&random, carriers);
		if (draw(&random, 4) == 0 && victim != carrier && take(&queues[victim], false)) {
			wp_placement_stolen(&placement, victim, carrier);
			run(carrier, &random);
		} else if (take(&queues[carrier], false)) {
			wp_placement_begins(&placement, carrier);
			run(carrier, &random);
		} else {
			rest(carrier, draw(&random, 16));
		}
	}
	return NULL;
}

static void case_cycles(char **args)
{
	pthread_t threads[CARRIERS + SUBMITTERS];
	uint32_t count = (uint32_t)atoi(args[2]);

	tasks = (uint32_t)atoi(args[3]);
	seed = strtoull(args[4], NULL, 10);
	deadline_ns = patience();
	init((enum wp_placement_policy)atoi(args[0]), count, atoi(args[1]) != 0);
	for (uint32_t at = 0; at < count + SUBMITTERS; at++)
		if (pthread_create(&threads[at], NULL, at < count ? member : submitter,
				   (void *)(uintptr_t)at) != 0)
			abort();
	for (uint32_t at = 0; at < count + SUBMITTERS; at++)
		pthread_join(threads[at], NULL);
	check(wp_load_relaxed(&ran) == SUBMITTERS * tasks, "a task");
	for (uint32_t carrier = 0; carrier < count; carrier++)
		check(wp_load_relaxed(&slots[carrier].word) == 0, "a load");
	check(wp_load_relaxed(&placement.global) == 0, "what is global");
}

int main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "cycles") == 0) {
		case_cycles(argv + 2);
		return failures != 0;
	}
	return run_case(argc, argv);
}
