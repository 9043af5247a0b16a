/* SPDX-License-Identifier: Apache-2.0
 * group_placement_storm.c POLICY AT_DEQUEUE RESUMES STEALING CARRIERS ROUNDS SEED - threads start
 * others, park, yield, and block, at once. If RESUMES, they are placed anew where they go on. If
 * AT_DEQUEUE is 1, a monitor watches them. In the end no task is counted, and no carrier is marked.
 * Prints what is lost. */
#include "../../chance.h"
#include "group_placement_case.h"

enum { THREADS = 24 };

static wp_vthread *threads[THREADS];
static wp_atomic(uint32_t) children;
static uint32_t rounds;

static int child(void *arg)
{
	wp_vthread_yield();
	wp_fetch_add_relaxed(&children, 1);
	return 0;
}

static void start_child(bool is_pinned)
{
	wp_vthread_config config = {
		.run = child, .carrier = WP_VTHREAD_HERE, .is_pinned = is_pinned};

	join(start_as(&config), "a child");
}

static void block(uint32_t how)
{
	wp_group_block();
	wp_yield();
	if (how == 0)
		start_child(false);
	if (how < 3)
		wp_group_unblock(); /* otherwise its step ends at some time */
}

static int acts(void *arg)
{
	uint64_t random = seed + 7919 * ((uintptr_t)arg + 1);

	await(&ready, 1);
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t drawn = draw(&random, UINT32_MAX);

		switch (drawn % 5) {
		case 0:
			wp_vthread_yield();
			break;
		case 1:
			wp_vthread_unpark(threads[(drawn >> 8) % THREADS]);
			wp_vthread_park_until(wp_clock_ns() + 20000);
			break;
		case 2:
			start_child((drawn >> 8) % 4 == 0);
			break;
		case 3:
			block((drawn >> 8) % 4);
			break;
		default:
			wp_vthread_sleep_until(wp_clock_ns() + 10000);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 8)
		return 2;
	rounds = (uint32_t)atoi(argv[6]);
	seed = strtoull(argv[7], NULL, 10);
	open_placed((wp_group_config){.carriers = (uint32_t)atoi(argv[5]),
				      .placement = (enum wp_placement_policy)atoi(argv[1]),
				      .load_at_dequeue = atoi(argv[2]) != 0,
				      .monitor_ms = (uint32_t)atoi(argv[2]),
				      .place_at_resume = atoi(argv[3]) != 0,
				      .work_stealing = atoi(argv[4]) != 0});
	for (uintptr_t each = 0; each < THREADS; each++) {
		wp_vthread_config config = {
			.run = acts, .arg = (void *)each, .carrier = WP_VTHREAD_HERE};

		threads[each] = new_as(&config);
	}
	for (int each = 0; each < THREADS; each++)
		if (wp_vthread_start(threads[each]) != WP_OK)
			lost("a start");
	wp_store_release(&ready, 1);
	for (uint32_t round = 0; round < rounds; round++)
		start_child(false);
	for (int each = 0; each < THREADS; each++)
		if (wp_vthread_join(threads[each], patience(), &(int){0}) != WP_OK)
			lost("a thread");
	for (int each = 0; each < THREADS; each++)
		wp_vthread_free(threads[each]);
	close_placed();
	return failures != 0;
}
