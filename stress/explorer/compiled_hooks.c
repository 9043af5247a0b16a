/* SPDX-License-Identifier: Apache-2.0
 * compiled_hooks.c - what kernel/thread/hooks.h asks of the scheduler, where there is none.
 *
 * A scenario has no carriers: its actors are OS threads, or it steps its virtual threads by hand. So a
 * waiter is never the calling virtual thread, and nobody is a carrier of a group. */
#include <stddef.h>

#include "thread/hooks.h"

wp_vthread *wp_vthread_current(void)
{
	return NULL;
}

int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	(void)deadline_ns;
	(void)why;
	(void)on;
	return WP_FORBIDDEN;
}

bool wp_vthread_clear_interrupt(void)
{
	return false;
}

void wp_vthread_interrupt(wp_vthread *thread)
{
	(void)thread;
}

void wp__vthread_push(wp_vthread *thread)
{
	(void)thread;
}

bool wp__wakers_are_mine(const struct wp_wakers *wakers)
{
	(void)wakers;
	return false;
}
