/* SPDX-License-Identifier: Apache-2.0
 * dump_made.c made - dumps while threads are made where others have ended, or were given back
 * unstarted. Prints what is lost.
 *
 * Why it works  In odd phases no thread is started: each is new, or changes too often to be
 *               read. */
#include "inspect/dump.h"
#include "../vthreads_case.h"
#include "../case_main.h"

enum { FRESH = 300, SEEN = 2000 };

static uint64_t fresh, others;

static enum wp_step ends(wp_task *task)
{
	return WP_STEP_DONE;
}

static wp_atomic(uint32_t) looks;

/* Waits until this many more dumps are over, or none comes. */
static void await_looks(uint32_t many)
{
	uint32_t before = wp_load_acquire(&looks);

	while (wp_load_acquire(&looks) - before < many && wp_load_acquire(&ready) == 0)
		wp_yield();
}

/* All without a stack, so that they use the memory of one block. */
static void *makes(void *arg)
{
	wp_vthread_config config = {.step = ends};
	wp_vthread *thread;

	while (wp_load_acquire(&ready) == 0) {
		join(start_as(&config), "who lives");
		wp_fetch_add_release(&count, 1);
		for (int one = 0; one < FRESH; one++) {
			thread = new_as(&config);
			if (one == FRESH - 1)
				await_looks(2); /* one of them begins after this */
			wp_vthread_free(thread);
		}
		wp_fetch_add_release(&count, 1);
	}
	return arg;
}

static bool note(void *arg, const wp_dump_thread *thread)
{
	uint32_t phase = *(uint32_t *)arg;
	bool is_new = thread->state == WP_DUMP_NEW;

	if (phase % 2 == 0 || wp_load_acquire(&count) != phase)
		return true;
	fresh += is_new;
	others += !is_new && thread->state != WP_DUMP_RUNNING;
	return true;
}

CASE(made)
{
	int64_t deadline_ns = patience();
	pthread_t maker;

	open_group(1, false, 0);
	pthread_create(&maker, NULL, makes, NULL);
	while (fresh < SEEN && wp_clock_ns() < deadline_ns) {
		uint32_t phase = wp_load_acquire(&count);

		check(wp_dump_each(group, note, &phase), "a whole dump");
		wp_fetch_add_release(&looks, 1);
	}
	wp_store_release(&ready, 1);
	pthread_join(maker, NULL);
	check(fresh >= SEEN, "what is new");
	check(others == 0, "that what is new was not started");
	close_group();
}
