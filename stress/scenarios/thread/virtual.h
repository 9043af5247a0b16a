/* SPDX-License-Identifier: Apache-2.0
 * virtual.h - a scenario's virtual thread; its carrier is the actor that calls.
 *
 * Why it works  The carrier has one thread to run, so its queue is one permit: a push gives the
 *               permit, and a pop takes it or sleeps. Around a park the carrier does what
 *               kernel/thread/vthread.h requires.
 * Spec          none: this is the scenarios' harness. */
#ifndef WP_VIRTUAL_H
#define WP_VIRTUAL_H

#include "wakeup/parker.h"
#include "thread/vthread.h"
#include "thread/wait_queue.h"

struct virtual
{
	wp_vthread thread; /* must be first, because virtual_push casts it */
	wp_parker queue;
};

WP_INLINE void virtual_init(struct virtual *virtual)
{
	wp_task_init(&virtual->thread.task, NULL, NULL);
	wp_parker_init(&virtual->queue);
}

WP_INLINE void virtual_push(wp_vthread *thread)
{
	wp_parker_unpark(&((struct virtual *)thread)->queue);
}

WP_INLINE void virtual_park(struct virtual *virtual)
{
	if (wp__vthread_take(&virtual->thread) || !wp__vthread_park(&virtual->thread))
		return;
	wp_parker_park(&virtual->queue);
	wp__vthread_begin(&virtual->thread);
}

/* Unparks the thread without a reason, as any thread may. */
WP_INLINE void virtual_stray(struct virtual *virtual)
{
	if (wp__vthread_notify(&virtual->thread) == WP_OWES_PUSH)
		virtual_push(&virtual->thread);
}

#endif
