/* SPDX-License-Identifier: Apache-2.0
 * vthread_run.h - a virtual thread without a stack, for scenarios.
 *
 * run() is what the thread does between two parks. Runs write plain memory, so two runs at once are
 * a data race. */
#include "thread/vthread.h"
#include "twin.h"

struct state {
	wp_mpsc queue;
	wp_mpsc_node behind; /* of another thread */
	wp_vthread thread;
	wp_atomic(uint32_t) work, more;
	uint32_t seen, runs, returned; /* plain: each run hands them to the next */
};

WP_INLINE void init(void *at)
{
	struct state *state = at;

	wp_mpsc_init(&state->queue);
	wp_task_init(&state->thread.task, NULL, NULL);
	wp_init(&state->thread.interrupted, 0);
	wp_init(&state->thread.given, 0);
	wp_init(&state->thread.let_go, 0);
}

WP_INLINE void push(struct state *state)
{
	wp_mpsc_push(&state->queue, &state->thread.task.node);
}

/* Pays what an unpark owes; returns 1 if that was a push. */
WP_INLINE int pay(struct state *state, enum wp_owed owed)
{
	if (owed == WP_OWES_PUSH)
		push(state);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&state->thread.task.word, 1);
	return owed == WP_OWES_PUSH;
}

/* The thread goes on, after a start, a yield or a park. */
WP_INLINE void run(struct state *state)
{
	wp__vthread_begin(&state->thread);
	state->returned = wp__vthread_number(&state->thread);
	state->runs++;
	state->seen |= wp_load_relaxed(&state->work);
	state->seen |= wp_load_relaxed(&state->more) << 1;
}

/* The thread leaves its carrier. Returns 1 if the park was refused, and the carrier had to push the
 * thread. */
WP_INLINE int park(struct state *state)
{
	if (wp__vthread_park(&state->thread)) {
		if (wp_twin(vthread_park_mounted))
			state->returned = 0; /* the thread is still on its stack */
		return 0;
	}
	push(state);
	return 1;
}
