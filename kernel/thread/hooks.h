/* SPDX-License-Identifier: Apache-2.0
 * hooks.h - functions that thread/ and sync/ call and that the layers above them define.
 *
 *   sched/vthread_start.h   has the contracts of the first six
 *   sched/worker.c          whether the caller is a carrier of a group
 *   sync/mutex.c            abandons the mutexes that a thread holds at its end
 *
 * Includes go down the layers only (tests/project/test_layers.py), so these declarations stand in a
 * layer below their definitions. Each file that defines one includes this header too, so the
 * compiler compares the two. The explorer has definitions of its own
 * (stress/explorer/compiled_hooks.c).
 * Spec          None.
 * Evidence      tests/project/test_layers.py. */
#ifndef WP_HOOKS_H
#define WP_HOOKS_H

#include "base/error.h"
#include "thread/vthread.h"
#include "thread/wait_reason.h"

struct wp_wakers;

wp_vthread *wp_vthread_current(void);
int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
bool wp_vthread_clear_interrupt(void);
void wp_vthread_interrupt(wp_vthread *thread);
void wp__vthread_push(wp_vthread *thread);
/* Returns true if the caller is a carrier of that group. [any thread | wait-free] */
bool wp__wakers_are_mine(const struct wp_wakers *wakers);

/* cdef: begin */
/* Marks the mutexes that a thread holds as abandoned, and unlocks them. It is called when the
 * thread has ended, or will not run any more. [its runner, or the close of its group | as
 * wp_mutex_unlock] */
void wp__vthread_abandon_held(wp_vthread *thread);
/* cdef: end */

#endif
