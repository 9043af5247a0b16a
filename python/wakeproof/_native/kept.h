/* SPDX-License-Identifier: Apache-2.0
 * kept.h - the memory of a group's virtual threads, when the group is freed, is kept for the groups
 * after it; for vthreads.c only.
 *
 *   free of a group                      new thread of another group
 *     its chunks := kept, to KEPT_MOST     no idle block? a chunk of kept, zeroed, is the group's
 *     the kernel frees what is left        none is kept? the kernel allocates one
 *
 * Why           A program that makes a group, starts many threads in it, and does so again, would get
 *               each page from the system each time, because malloc has given it back. That costs
 *               more than all that the kernel does to start and end the threads.
 * Why it works  Whoever cannot have the flag at once does without what is kept, so nobody waits, and a
 *               child whose parent forked meanwhile goes on.
 * Evidence      tests/sched/test_kept.py. */
#ifndef WP__KEPT_H
#define WP__KEPT_H

#include <stdlib.h>
#include <string.h>

#include "sched/vthread_stackful.h"
#include "sched/worker.h"
#include "thread/wakers.h"

enum { KEPT_MOST = 90 }; /* chunks: 4 MB, of 11,520 threads */

static struct {
	bool is_taken; /* somebody uses what follows */
	void **chunks; /* each links to the next, as in the group */
	uint32_t count;
} kept;

static bool take_kept(void)
{
	return !__atomic_exchange_n(&kept.is_taken, true, __ATOMIC_ACQUIRE);
}

static void leave_kept(void)
{
	__atomic_store_n(&kept.is_taken, false, __ATOMIC_RELEASE);
}

/* Of a group that nobody uses any more. */
static void keep(wp_bodies *bodies)
{
	void **chunk;

	if (!take_kept())
		return;
	while ((chunk = bodies->chunks) != NULL && kept.count < KEPT_MOST) {
		bodies->chunks = *chunk;
		*chunk = kept.chunks;
		kept.chunks = chunk;
		kept.count++;
	}
	leave_kept();
}

/* As the kernel's own new chunk (vthread_stackful.c, grow). */
static void use(wp_bodies *bodies, void **chunk)
{
	wp_lock_acquire(&bodies->lock);
	wp__bodies_add(bodies, chunk);
	wp_lock_release(&bodies->lock);
}

/* Before a thread is made. Both looks may be stale: then the kernel allocates, or the group has a chunk
 * more. */
static void use_kept(wp_bodies *bodies)
{
	void **chunk;

	if (__atomic_load_n(&bodies->idle, __ATOMIC_RELAXED) != NULL ||
	    __atomic_load_n(&kept.chunks, __ATOMIC_RELAXED) == NULL || !take_kept())
		return;
	chunk = kept.chunks;
	if (chunk != NULL) {
		kept.chunks = *chunk;
		kept.count--;
	}
	leave_kept();
	if (chunk != NULL)
		use(bodies, chunk);
}

#endif
