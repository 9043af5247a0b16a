/* SPDX-License-Identifier: Apache-2.0
 * seastar_1488.c - a sequentially consistent load is no fence.
 *
 * System     Seastar (thread pool for blocking system calls)
 * Issue      https://github.com/scylladb/seastar/pull/1488
 * Year       2023
 * Seen       A reactor sleeps although a system call of its is complete.
 * Mechanism  The worker thread publishes a completion by a release store to the index of a queue,
 *            and then loads the flag that says whether the reactor is idle. The load is seq_cst,
 *            which does not keep the earlier store before it: the store may still be in the store
 *            buffer when the reactor, which has set the flag, looks into the queue for the last
 *            time.
 * Claim      A reactor sees each completion.
 * Shows      ended asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int event;
static atomic_uint write_index; /* of the queue of completions */
static atomic_bool is_idle;

static void *complete(void *unused)
{
	uint64_t one = 1;

	atomic_store_explicit(&write_index, 1, memory_order_release);
#ifdef FIXED
	atomic_thread_fence(memory_order_seq_cst);
#endif
	if (atomic_load(&is_idle))
		write(event, &one, sizeof(one));
	return unused;
}

static bool poll_completions(void)
{
	return atomic_load_explicit(&write_index, memory_order_acquire);
}

static void run_reactor(void)
{
	uint64_t count;

	while (!poll_completions()) {
		atomic_store(&is_idle, true);
		atomic_thread_fence(memory_order_seq_cst);
		if (!poll_completions())
			read(event, &count, sizeof(count));
		atomic_store_explicit(&is_idle, false, memory_order_relaxed);
	}
}

int main(void)
{
	pthread_t worker;

	event = eventfd(0, 0);
	pthread_create(&worker, NULL, complete, NULL);
	run_reactor();
	pthread_join(worker, NULL);
	return 0;
}
