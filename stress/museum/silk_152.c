/* SPDX-License-Identifier: Apache-2.0
 * silk_152.c - before it parks it looks for work once more, but not whether to stop.
 *
 * System     silk, the fibers of ClickHouse
 * Issue      https://github.com/ClickHouse/silk/pull/152
 * Year       2026
 * Seen       A test passes, and its program never ends: it joins the scheduler's threads.
 * Mechanism  Who stops the scheduler sets `stopping`, and rings at each processor that is said to
 *            sleep. A processor that found neither work nor a stop says that it sleeps, and looks
 *            again, but for work alone. If the stop came between, nobody rings, and it parks.
 * Claim      A processor ends after a stop.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int doorbell;
static atomic_bool stopping, sleeping;
static atomic_int work;

static bool has_work(void)
{
	return atomic_load_explicit(&work, memory_order_acquire);
}

static bool is_stopping(void)
{
	return atomic_load_explicit(&stopping, memory_order_relaxed);
}

static void ring_if_it_sleeps(void)
{
	uint64_t one = 1;

	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&sleeping, memory_order_relaxed))
		write(doorbell, &one, sizeof(one));
}

static void park(void)
{
	uint64_t count;
	bool is_wanted;

	atomic_store_explicit(&sleeping, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	is_wanted = has_work();
#ifdef FIXED
	is_wanted = is_wanted || is_stopping();
#endif
	if (!is_wanted)
		read(doorbell, &count, sizeof(count));
	atomic_store_explicit(&sleeping, false, memory_order_relaxed);
}

static void *run_processor(void *unused)
{
	while (!is_stopping()) {
		if (has_work())
			atomic_fetch_sub_explicit(&work, 1, memory_order_acquire);
		else
			park();
	}
	return unused;
}

int main(void)
{
	pthread_t processor;

	doorbell = eventfd(0, 0);
	pthread_create(&processor, NULL, run_processor, NULL);
	atomic_fetch_add_explicit(&work, 1, memory_order_release);
	ring_if_it_sleeps();
	atomic_store_explicit(&stopping, true, memory_order_release);
	ring_if_it_sleeps();
	pthread_join(processor, NULL);
	return 0;
}
