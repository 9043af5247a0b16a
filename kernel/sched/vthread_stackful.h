/* SPDX-License-Identifier: Apache-2.0
 * vthread_stackful.h - the parts of a virtual thread other than its word, and the memory of the
 * threads of one group. Only vthread_start.c, vthread_stackful.c and group.c use it.
 *
 *   with a stack      at the top of a slot of its size (stack.h); what few threads use lies behind it
 *   without           in a block of this pool; what few threads use is at the end of the chunk, so
 *                     a thread that uses none of it has no memory for it
 *
 * Why it works  Both kinds of memory are type-stable: a body, the record of one virtual thread,
 *               stays a body until the group is freed. */
#ifndef WP_VTHREAD_STACKFUL_H
#define WP_VTHREAD_STACKFUL_H

#include "sched/timer.h"
#include "sched/vthread_start.h"
#include "thread/fiber.h"
#include "thread/latch.h"
#include "thread/rounding.h"
#include "thread/stack.h"

enum { WP_BODY_CHUNK = 128, WP_BODY_LOCALS = 4 };

typedef struct wp_local_value {
	const wp_local *key;
	void *value;
} wp_local_value;

struct wp_body;

/* What most threads never use, so it has no value until its user writes it: `timer` to `armed_for`
 * are for a park with a deadline, and written by its runner and, under the timers' lock, by the
 * thread that fires the timer; `waits_for` and `waits_on` for the event of a wait; `locals` if there
 * is room for some; `name` if the task has one. */
typedef struct wp_body_rare {
	wp_timer timer;
	struct wp_body *body;
	uint32_t armed_for; /* number of the park that the timer ends */
	uint32_t waits_for, waits_on;
	uint64_t rounding; /* its control words while it does not run, if it keeps_rounding */
	wp_local_value *locals;
	char name[WP_VTHREAD_NAME];
} wp_body_rare;

/* A virtual thread. `done` is written by its runner; the other fields by its maker, and then by its
 * runner. */
typedef struct wp_body {
	wp_vthread thread;
	wp_latch done;
	wp_body_rare *rare;
	wp_group *group;
	uint64_t number; /* unique in the group, for ever */
	int (*run)(void *arg);
	enum wp_step (*step)(wp_task *task);
	void *arg;
	int failure;
	bool is_started, has_no_locals;
	bool is_placed; /* the group chooses its home at its start */
	uint32_t locals_room, locals_count;
	void (*left)(wp_vthread *thread);
	struct wp_scope *scope; /* the innermost open scope, or the scope that has forked it */
	struct wp_body *next;   /* the next idle block */
} wp_body;

/* What is at the top of a slot. */
typedef struct wp_body_stackful {
	wp_body body;
	wp_body_rare rare;
} wp_body_stackful;

WP_INLINE wp_body *wp__body_of(wp_vthread *thread)
{
	return (wp_body *)(void *)thread;
}

/* Call after each switch away from the thread's stack, if it has one (wp_stack_check). [its runner |
 * wait-free] */
WP_INLINE void wp__body_check(wp_body *body)
{
	if (body->thread.has_canary)
		wp_stack_check(wp_stack_of(body));
}

void wp__body_saves_rounding(wp_body *body);
void wp__body_check_rounding(wp_body *body);
/* Call before each switch away from the thread's stack (rounding.h). [its runner | wait-free] */
WP_INLINE void wp__body_leaves(wp_body *body)
{
	if (body->thread.keeps_rounding)
		wp__body_saves_rounding(body);
#ifdef WP__FIBER_TOLD
	else
		wp__body_check_rounding(body);
#endif
}

/* Call before each switch to the thread's stack. [its runner | wait-free] */
WP_INLINE void wp__body_enters(const wp_body *body)
{
	if (body->thread.keeps_rounding)
		wp__rounding_load(body->rare->rounding);
}

/* Writes the event of a wait that has ended with `code` (trace.c). [its runner | as
 * wp__trace_add_here] */
void wp__body_waited(wp_body *body, int code);
/* Ends a park, and returns its result. [its runner | as wp_timer_cancel] */
WP_INLINE int wp__vthread_why(wp_body *body)
{
	int code;

	if (body->thread.is_timed)
		wp_timer_cancel(&body->rare->timer);
	body->thread.is_timed = false;
	code = wp_vthread_is_interrupted(&body->thread) ? WP_INTERRUPTED
	       : body->thread.was_unparked              ? WP_OK
							: WP_TIMEOUT;
	if (body->thread.waits_since_ns != 0)
		wp__body_waited(body, code);
	return code;
}

/* Sets the fiber from which the calling OS thread mounts virtual threads. Returns the previous one.
 * [an OS thread | wait-free] */
wp_fiber *wp__vthread_mount_from(wp_fiber *fiber);

/* The bodies of one group: stacks of each size, and blocks for threads without a stack. A zeroed
 * one is empty. All fields are under the lock. */
typedef struct wp_bodies {
	wp_lock lock;
	uint32_t sizes;
	/* How many threads were made under the lock; it gives them their numbers. A thread from a
	 * carrier's cache gets its number from the carrier. */
	uint64_t made;
	uint64_t bytes[WP_VTHREAD_SIZES];
	wp_stacks *stacks[WP_VTHREAD_SIZES];
	wp_body *idle;
	void **chunks; /* each chunk links to the next by its first word */
} wp_bodies;

/* Returns the WP_BODY_CHUNK blocks of a chunk, which are behind its link. [any thread | wait-free]
 */
WP_INLINE wp_body *wp__body_chunk(void **chunk)
{
	return (wp_body *)(void *)((char *)(void *)chunk + WP_LINE);
}

enum { WP_BODY_CHUNK_BYTES = WP_LINE + WP_BODY_CHUNK * (sizeof(wp_body) + sizeof(wp_body_rare)) };

/* Makes the blocks of a chunk idle, in memory of any value. [the lock's holder | wait-free] */
void wp__bodies_add(wp_bodies *bodies, void **chunk);
/* Takes a body. A new one is zeroed, but for `rare`; another one is as it was given back. Returns NULL and sets
 * errno if there is none. [any thread | blocks briefly] */
wp_body *wp__body_take(wp_group *group, const wp_vthread_config *config);
/* Gives a body back. [its owner | blocks briefly] */
void wp__body_give(wp_body *body);
/* Calls `fini` for each value of the thread (wp_local), and frees the memory of the values. [its
 * runner | as the fini functions] */
void wp__body_forget(wp_body *body);
/* Frees the memory of the thread's values. [its owner | frees] */
void wp__body_drop(wp_body *body);
void wp__bodies_free(wp_bodies *bodies);

#endif
