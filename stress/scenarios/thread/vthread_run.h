/* SPDX-License-Identifier: Apache-2.0
 * vthread_run.h - a virtual thread without a stack, for scenarios: run() is what it does between
 * two parks. What runs write is plain, so two at once are a race. */
#include "thread/vthread.h"
#include "twin.h"

struct state {
	wp_mpsc queue;
	wp_mpsc_node behind; /* another thread's */
	wp_vthread thread;
	wp_atomic(uint32_t) work, more;
	uint32_t seen, runs, returned; /* plain: a run hands them to the next */
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

/* What an unpark owes is paid; 1: it was a push. */
WP_INLINE int pay(struct state *state, enum wp_owed owed)
{
	if (owed == WP_OWES_PUSH)
		push(state);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&state->thread.task.word, 1);
	return owed == WP_OWES_PUSH;
}

/* The thread goes on, from a start, a yield or a park. */
WP_INLINE void run(struct state *state)
{
	wp__vthread_begin(&state->thread);
	state->returned = wp__vthread_number(&state->thread);
	state->runs++;
	state->seen |= wp_load_relaxed(&state->work);
	state->seen |= wp_load_relaxed(&state->more) << 1;
}

/* It leaves its carrier. 1: refused, the carrier had to push it. */
WP_INLINE int park(struct state *state)
{
	if (wp__vthread_park(&state->thread)) {
		if (wp_twin(vthread_park_mounted))
			state->returned = 0; /* it is still on its stack */
		return 0;
	}
	push(state);
	return 1;
}
