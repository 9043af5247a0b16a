/* SPDX-License-Identifier: Apache-2.0
 * hooks.h - what thread/ and sync/ need of the layers above them, each of which defines its part.
 *
 *   sched/vthread_start.h   has the contracts of the first six
 *   sched/worker.c          whether the caller is a carrier of a group
 *   sync/mutex.c            the mutexes that a thread leaves behind
 *
 * Includes go down the layers only (tests/project/test_layers.py), so these declarations stand
 * below their definitions. The compiler compares the two: each file that defines one includes this
 * header, too.
 * The explorer has definitions of its own (stress/explorer/compiled_hooks.c).
 * Spec          none. Evidence  tests/project/test_layers.py. */
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
/* The caller is a carrier of that group. [any thread | wait-free] */
bool wp__wakers_are_mine(const struct wp_wakers *wakers);

/* cdef: begin */
/* It has ended, or will not run any more: the mutexes that it has are marked and unlocked. [its
 * runner, or the close of its group | as wp_mutex_unlock] */
void wp__vthread_abandon_held(wp_vthread *thread);
/* cdef: end */

#endif
