/* SPDX-License-Identifier: Apache-2.0
 * things.h - the simplest object with a wait queue: things under a lock, one for each waiter.
 *
 *   one thread                 another
 *   wp__waiter_wait(..)        things_give(&things)
 *
 * Why it works  A given thing goes to the first waiter, or stays with the object. */
#ifndef STRESS_THINGS_H
#define STRESS_THINGS_H

#include "thread/wait_queue.h"

struct things {
	wp_lock lock;
	uint32_t count; /* plain: guarded by the lock */
	wp_wait_queue line;
};

/* True if the first waiter got the thing. */
static inline bool things_give(struct things *things)
{
	wp_waiter *first;

	wp_lock_acquire(&things->lock);
	first = things->line.first;
	if (first != NULL)
		wp__wait_queue_remove(first);
	else
		things->count++;
	wp_lock_release(&things->lock);
	if (first != NULL)
		wp__waiter_grant(first);
	return first != NULL;
}

#endif
