/* SPDX-License-Identifier: Apache-2.0
 * dump.c - lists the threads of a group and their frames: see dump.h.
 *
 * Not explored, because it reads stacks; the looks are explored by stress/scenarios/inspect/dump.c.
 */
#include "inspect/dump.h"

#include "sched/vthread_stackful.h"
#include "sched/worker.h"
#include "thread/snapshot.h"
#include "thread/unwind.h"

enum { LOOKS = 4 }; /* looks at a thread that keeps moving; then it is shown as running */

/* Other threads may write at the same time to what is read here, and the stack holds the poisoned
 * zones of other frames. So the sanitizers are switched off. */
#define UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))

struct walk {
	wp_unwind_rows rows;
	wp_group *group;
	bool (*each)(void *arg, const wp_dump_thread *thread);
	void *arg;
};

UNWATCHED static void read_name(wp_dump_thread *shown, const wp_body *body)
{
	const volatile wp_body *now = body;
	const volatile char *name = now->thread.task.name;
	int at = 0;

	while (name != NULL && at < WP_VTHREAD_NAME - 1 && (shown->name[at] = name[at]) != '\0')
		at++;
	shown->name[at] = '\0';
}

static int carrier_of(wp_group *group, const wp_vthread *thread)
{
	for (uint32_t index = 0; index < group->config.carriers; index++)
		/* [dump.1] relaxed: a value that is stale costs a name, never a task; pairs
		 * worker.1, worker_idle.1; upholds Dump!RunnerIsNamed. */
		if (wp_load_relaxed(&group->workers[index].mounted) == &thread->task)
			return (int)index;
	return -1;
}

int wp_dump_carrier(wp_vthread *thread)
{
	return carrier_of(wp__body_of(thread)->group, thread);
}

UNWATCHED static enum wp_dump_state state_of(const wp_body *body, uint32_t word, int carrier)
{
	const volatile wp_body *now = body;

	switch (word & WP_VTHREAD_STATE) {
	case WP_TASK_PARKED:
		return word & WP_VTHREAD_ENDS ? WP_DUMP_QUEUED : WP_DUMP_PARKED;
	case WP_TASK_CANCELLED:
		return WP_DUMP_CLOSED;
	case WP_TASK_BUSY | WP_VTHREAD_PINNED:
		return WP_DUMP_PINNED;
	default:
		break;
	}
	if (!now->is_started)
		return WP_DUMP_NEW;
	if (now->thread.scheduler != NULL)
		return WP_DUMP_GIVEN;
	return carrier >= 0 ? WP_DUMP_RUNNING : WP_DUMP_QUEUED;
}

static void read_stack(wp_unwind_rows *rows, const wp_stack *stack, uintptr_t sp,
		       wp_dump_thread *shown)
{
	uintptr_t low = (uintptr_t)stack->low, top = (uintptr_t)stack;

	shown->depth = wp__unwind(rows, sp, low, top, shown->frames, WP_DUMP_FRAMES);
	shown->stack_used = shown->depth == 0 ? 0 : top - sp;
}

UNWATCHED static void describe(struct walk *walk, const wp_body *body, const wp_carrier_tasks *home,
			       uint32_t word, wp_dump_thread *shown)
{
	const volatile wp_body *now = body;
	const wp_stack *stack = (const wp_stack *)(const void *)body - 1;
	bool is_busy = (word & WP_TASK_CANCELLED) == WP_TASK_BUSY; /* pinned or not */

	read_name(shown, body); /* first: a thread being made is shown as new */
	shown->home = (int)((const wp_worker *)(const void *)home)->index;
	shown->carrier = is_busy ? carrier_of(walk->group, &body->thread) : -1;
	shown->state = state_of(body, word, shown->carrier);
	shown->depth = 0;
	shown->stack_bytes = shown->stack_used = 0;
	if (!now->thread.has_stack)
		return;
	shown->stack_bytes = wp_stack_bytes(stack);
	if ((word & WP_VTHREAD_STATE) == WP_TASK_PARKED)
		read_stack(&walk->rows, stack, (uintptr_t)now->thread.fiber.sp, shown);
}

/* Returns the home of the thread; NULL if the thread is not made yet, or has ended. The home is set
 * last when a thread is made, and the word says that it has ended. The home is read once, because
 * the memory may by now belong to another thread, which is just being made. */
UNWATCHED static const wp_carrier_tasks *home_of(const wp_body *body, uint32_t word)
{
	const volatile wp_body *now = body;

	return (word & WP_VTHREAD_STATE) == WP_TASK_DONE ? NULL : now->thread.task.home;
}

/* Reads one thread. Returns true if there is a thread, and `shown` describes it. */
static bool read_one(struct walk *walk, wp_body *body, wp_dump_thread *shown)
{
	for (int look = 0; look < LOOKS; look++) {
		uint32_t word = wp__dump_look(&body->thread);
		const wp_carrier_tasks *home = home_of(body, word);

		if (home == NULL)
			return false;
		describe(walk, body, home, word, shown);
		if (wp__dump_is_still(&body->thread, word))
			return true;
	}
	shown->state = WP_DUMP_RUNNING;
	shown->depth = 0;
	shown->stack_used = 0;
	return true;
}

/* Shows one thread. Returns false if `each` wants no more. */
static bool show(struct walk *walk, wp_body *body, uint64_t id)
{
	wp_dump_thread shown;

	if (!read_one(walk, body, &shown))
		return true;
	shown.id = id;
	return walk->each(walk->arg, &shown);
}

static bool show_stacks(struct walk *walk, wp_stacks *pool, uint64_t first)
{
	uint32_t made = wp_stacks_count(pool);

	for (uint32_t number = 0; number < made; number++)
		if (!show(walk, wp_stacks_slot(pool, number), first + number))
			return false;
	return true;
}

/* The newest block comes first and has the highest numbers. */
static bool show_blocks(struct walk *walk, void **chunks, uint64_t first)
{
	uint64_t left = 0;

	for (void **chunk = chunks; chunk != NULL; chunk = *chunk)
		left++;
	for (void **chunk = chunks; chunk != NULL; chunk = *chunk) {
		wp_body *bodies = wp__body_chunk(chunk);

		left--;
		for (uint32_t at = 0; at < WP_BODY_CHUNK; at++)
			if (!show(walk, &bodies[at], first + left * WP_BODY_CHUNK + at))
				return false;
	}
	return true;
}

bool wp_dump_each(wp_group *group, bool (*each)(void *arg, const wp_dump_thread *thread), void *arg)
{
	struct walk walk = {.group = group, .each = each, .arg = arg};
	wp_bodies *bodies = &group->bodies;
	wp_stacks *stacks[WP_VTHREAD_SIZES];
	uint64_t most = group->config.max_stacks, first = 0;
	void **chunks;
	uint32_t sizes;

	if (most == 0)
		most = WP_GROUP_STACKS;
	most += (uint64_t)group->config.carriers * WP_STACK_CACHE; /* stack.h */
	wp_lock_acquire(&bodies->lock);
	sizes = bodies->sizes;
	for (uint32_t at = 0; at < sizes; at++)
		stacks[at] = bodies->stacks[at];
	chunks = bodies->chunks;
	wp_lock_release(&bodies->lock);
	for (uint32_t at = 0; at < sizes; at++, first += most)
		if (!show_stacks(&walk, stacks[at], first))
			return false;
	return show_blocks(&walk, chunks, WP_VTHREAD_SIZES * most);
}
