/* SPDX-License-Identifier: Apache-2.0
 * compiled_hooks.c - functions that explored files of the kernel call in files that the explorer
 * leaves out.
 *
 * A scenario has no group: its actors are OS threads, or it steps its virtual threads by hand. So a
 * waiter is never the calling virtual thread, no thread is a carrier of a group, no close ends a
 * wait, no thread has a tag, and no stack is left behind where a step ends. */
#define WP_EXPLORE
#define WP_INSTRUMENT "explorer/instrument.h" /* the sizes of its structs */
#include <stddef.h>

#include "io/descriptor.h"
#include "pool/nonblocking_tag.h"
#include "sched/carrier_tasks.h"
#include "thread/hooks.h"

wp_vthread *wp_vthread_current(void)
{
	return NULL;
}

int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	return WP_FORBIDDEN;
}

bool wp_vthread_clear_interrupt(void)
{
	return false;
}

void wp_vthread_interrupt(wp_vthread *thread)
{
}

void wp__vthread_push(wp_vthread *thread)
{
}

bool wp__wakers_are_mine(const struct wp_wakers *wakers)
{
	return false;
}

void wp__group_placement_pushed(wp_carrier_tasks *home)
{
}

void wp__group_placement_resumes(wp_task *task)
{
}

void wp__vthread_submit(wp_vthread *thread)
{
}

wp_task *wp__vthread_left(void)
{
	__builtin_trap(); /* no virtual thread was mounted */
}

void wp__io_left(wp_waiter *waiter)
{
}

bool wp_is_non_blocking(void)
{
	return false;
}

void wp_invoke_non_blocking(void (*run)(void *arg), void *arg)
{
	run(arg);
}
