/* SPDX-License-Identifier: Apache-2.0
 * submit.c - row 3: the cost of a guarded submission for its producer while the consumer is awake.
 *
 * One thread pushes a batch, each push followed by the signal, and drains it, so that the cost
 * of the signal is not hidden behind cache lines that travel (submit_awake in flow.c includes
 * them). */
#include "bench.h"
#include "flow_ours.h"

enum { DEPTH = 64 };

static bench_task tasks[DEPTH], *all[DEPTH];

BENCH_INLINE double submissions(enum wp_guard_fences fences, void (*after)(guarded *), uint64_t ops)
{
	static guarded *made[2];
	guarded *to;
	double start;

	if (made[fences] == NULL)
		made[fences] = guarded_make(fences);
	to = made[fences];
	for (size_t k = 0; k < DEPTH; k++)
		all[k] = &tasks[k];
	start = bench_cpu_ns();
	for (uint64_t done = 0; done < ops; done += DEPTH) {
		guarded_produce(to, all, DEPTH, after);
		for (size_t k = 0; k < DEPTH; k++) {
			bench_task *task = (bench_task *)(void *)wp_mpsc_pop(&to->queue);

			if (task == NULL)
				bench_fail("a pushed task is missing");
			task->runs++;
		}
	}
	return bench_cpu_ns() - start;
}

BENCH_SIDE(symmetric, submissions(WP_GUARD_SYMMETRIC, after_signal, ops))
BENCH_SIDE(fenced, submissions(WP_GUARD_SYMMETRIC, after_fence, ops))
BENCH_SIDE(asymmetric, submissions(WP_GUARD_ASYMMETRIC, after_signal, ops))
BENCH_SIDE(plain, submissions(WP_GUARD_ASYMMETRIC, after_nothing, ops))

const bench_row bench_submit[] = {
	{.name = "submit",
	 .sides = {{"symmetric", symmetric},
		   {"fenced", fenced},
		   {"asymmetric", asymmetric},
		   {"plain", plain}}},
	{.name = NULL},
};
