/* SPDX-License-Identifier: Apache-2.0
 * vthread_stackful.h - what a virtual thread is besides its word, and the memory of those of one
 * group. For vthread_start.c, vthread_stackful.c and group.c alone.
 *
 *   with a stack      at the top of a slot of its size (stack.h)
 *   without           in a block of this pool
 *
 * Why it works  Either is type-stable: it stays memory until the group is freed. */
#ifndef WP_VTHREAD_STACKFUL_H
#define WP_VTHREAD_STACKFUL_H

#include "sched/timer.h"
#include "sched/vthread_start.h"
#include "thread/fiber.h"
#include "thread/latch.h"
#include "thread/stack.h"

enum { WP_BODY_CHUNK = 64, WP_BODY_LOCALS = 4 };

typedef struct wp_local_value {
	const wp_local *key;
	void *value;
} wp_local_value;

/* done: its runner. armed_for, timer: its runner, and under the timers' lock whoever fires it.
 * The rest: who makes it, then its runner. */
typedef struct wp_body {
	wp_vthread thread;
	wp_fiber fiber;
	wp_fiber *under; /* who mounted it, or whoever passed to it */
	wp_latch done;
	wp_timer timer;
	uint32_t armed_for; /* the park that the timer is to end */
	uint32_t pins;
	bool is_timed; /* the timer was armed for its park */
	wp_group *group;
	uint64_t number;        /* no other thread of the group has it, or gets it */
	int64_t waits_since_ns; /* for an event; 0: it does not, or it is not told */
	uint32_t waits_for, waits_on;
	int (*run)(void *arg);
	enum wp_step (*step)(wp_task *task);
	void *arg;
	int failure;
	bool is_started, has_no_locals, has_stack;
	bool is_placed; /* its group is to choose its home when it starts */
	uint32_t locals_room, locals_count;
	wp_local_value *locals;
	void (*left)(wp_vthread *thread);
	struct wp_scope *scope; /* the innermost that it has open, or the one that has forked it */
	struct wp_body *next;   /* among the idle blocks */
	char name[WP_VTHREAD_NAME];
} wp_body;

WP_INLINE wp_body *wp__body_of(wp_vthread *thread)
{
	return (wp_body *)(void *)thread;
}

/* What the park that has ended says. [its runner | as wp_timer_cancel] */
int wp__vthread_why(wp_body *body);
/* Its wait is over, and said that: an event (trace.c). [its runner | as wp__trace_add_here] */
void wp__body_waited(wp_body *body, int code);

/* The calling OS thread mounts from there; where it did before. [an OS thread | wait-free] */
wp_fiber *wp__vthread_mount_from(wp_fiber *fiber);

/* The caller is to leave its stack: the thread to which it is to switch; if it yields, itself
 * perhaps. NULL: it leaves by way of the loop. [a virtual thread that may leave its carrier |
 * wait-free] */
wp_body *wp__vthread_pass(wp_body *body, bool yields);

/* Of one group: stacks by size, blocks. Zeroed is empty. Under the lock. */
typedef struct wp_bodies {
	wp_lock lock;
	uint32_t sizes;
	/* threads under the lock: their numbers; those of a carrier's cache have its own */
	uint64_t made;
	uint64_t bytes[WP_VTHREAD_SIZES];
	wp_stacks *stacks[WP_VTHREAD_SIZES];
	wp_body *idle;
	void **chunks; /* each links to the next by its first word */
} wp_bodies;

/* The WP_BODY_CHUNK blocks of a chunk, behind its link. [any thread | wait-free] */
WP_INLINE wp_body *wp__body_chunk(void **chunk)
{
	return (wp_body *)(void *)((char *)(void *)chunk + WP_LINE);
}

/* Zeroed at first, then as it was given. NULL and errno. [any thread | blocks shortly] */
wp_body *wp__body_take(wp_group *group, const wp_vthread_config *config);
/* [who owns it | blocks shortly] */
void wp__body_give(wp_body *body);
/* The locals end. [its runner | what they do] */
void wp__body_forget(wp_body *body);
/* Their memory goes. [who has it | frees] */
void wp__body_drop(wp_body *body);
void wp__bodies_free(wp_bodies *bodies);

#endif
