/* SPDX-License-Identifier: Apache-2.0
 * task.h - the tasks in the queues of the bench: one cache line, like the head of a virtual thread.
 * Shared with C++. */
#ifndef WP_BENCH_TASK_H
#define WP_BENCH_TASK_H

#include <stddef.h>
#include <stdint.h>

/* 64 bytes. The queue owns `link`, the holder of the task owns the rest. */
typedef struct bench_task {
	void *link; /* a wp_mpsc_node or a peer's node; each is one pointer */
	void (*run)(struct bench_task *task);
	uint64_t runs, number;
	uint64_t producer, unused[3];
} bench_task;

enum { FLOW_PLACES = 8, FLOW_PLACE_BYTES = 32 };

/* Takes until the queue is empty or `most` tasks are taken. */
typedef size_t flow_consume(void *queue, bench_task **tasks, size_t most);

/* A queue between threads. Tasks are pushed one at a time, and taken so as well, but for `many` and
 * `bulk`. A call does several, so that the indirect call costs little, and the same for all sides. `produce` of no task is a producer's
 * last call. */
typedef struct flow_queue {
	void *(*make)(int producers);
	void (*fini)(void *queue);
	void (*produce)(void *queue, int producer, bench_task **tasks, size_t count);
	flow_consume *const *consume; /* FLOW_PLACES copies of one function */
} flow_queue;

/* Moves the code after it by `bytes` that are never executed. */
#if defined(__x86_64__)
#define FLOW_SHIFT(bytes) __asm__ __volatile__("jmp 1f\n\t.skip %c0, 0x90\n1:" ::"i"(bytes))
#elif defined(__aarch64__)
#define FLOW_SHIFT(bytes) __asm__ __volatile__("b 1f\n\t.skip %c0\n1:" ::"i"(bytes))
#else
#define FLOW_SHIFT(bytes) ((void)0)
#endif

/* Copies of `take` at different addresses. A consumer depends on the prefetcher, which
 * distinguishes loads by a few bits of their addresses: by chance of placement, one copy is up to
 * twice as fast as another. Rounds go through all addresses, on all sides. */
#define FLOW_PLACE(take, n)                                                       \
	static size_t take##_at_##n(void *queue, bench_task **tasks, size_t most) \
	{                                                                         \
		FLOW_SHIFT(((n) + 1) * FLOW_PLACE_BYTES);                         \
		return take(queue, tasks, most);                                  \
	}
#define FLOW_CONSUMERS(name, take)                                                             \
	FLOW_PLACE(take, 0)                                                                    \
	FLOW_PLACE(take, 1)                                                                    \
	FLOW_PLACE(take, 2)                                                                    \
	FLOW_PLACE(take, 3)                                                                    \
	FLOW_PLACE(take, 4)                                                                    \
	FLOW_PLACE(take, 5)                                                                    \
	FLOW_PLACE(take, 6)                                                                    \
	FLOW_PLACE(take, 7)                                                                    \
	static flow_consume *const name[FLOW_PLACES] = {take##_at_0, take##_at_1, take##_at_2, \
							take##_at_3, take##_at_4, take##_at_5, \
							take##_at_6, take##_at_7};

#ifdef __cplusplus
extern "C" {
#endif
extern const flow_queue flow_ours, flow_packed, flow_many, flow_vyukov, flow_chain, flow_moodycamel,
	flow_bulk;
extern const flow_queue flow_fenced, flow_symmetric, flow_asymmetric;
#ifdef __cplusplus
}
#endif

#endif
