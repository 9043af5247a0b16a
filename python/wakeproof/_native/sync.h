/* SPDX-License-Identifier: Apache-2.0
 * sync.h - what Python needs beside the kernel's mutex, condition, semaphore and channel: all of
 * them, and the waiters in their lines, on the heap.
 *
 * Why it works  A virtual thread of Python parks by itself, between the begin of a wait and its
 *               check: the kernel's park would block the carrier. An OS thread waits in the kernel.
 * Evidence      tests/sync/test_mutex.py, test_condition.py, test_semaphore.py, test_channel.py. */
#ifndef WP_SYNC_H
#define WP_SYNC_H

#include "sync/channel.h"
#include "sync/condition.h"
#include "sync/mutex.h"
#include "sync/semaphore.h"

/* cdef: begin */
typedef struct wp_mutex wp_mutex;
typedef struct wp_condition wp_condition;
typedef struct wp_semaphore wp_semaphore;
typedef struct wp_channel wp_channel;
typedef struct wp_waiter wp_waiter;

/* Each new: NULL and errno if there is no memory. Each free: nobody may use the object. [any
 * thread] */
wp_mutex *wp__mutex_new(void);
void wp__mutex_free(wp_mutex *mutex);
wp_condition *wp__condition_new(void);
void wp__condition_free(wp_condition *condition);
wp_semaphore *wp__semaphore_new(uint32_t permits);
void wp__semaphore_free(wp_semaphore *semaphore);
wp_channel *wp__channel_new(uint32_t capacity);
void wp__channel_free(wp_channel *channel);
/* Of that virtual thread. */
wp_waiter *wp__waiter_new(wp_vthread *thread);
void wp__waiter_free(wp_waiter *waiter);

/* A park said something else than WP_OK; before the cancel. [the waiter's thread | wait-free] */
void wp__waiter_unparked(wp_waiter *waiter);

/* After a park. True: granted; false: park again. [the waiter's thread | blocks briefly] */
bool wp__semaphore_check(wp_semaphore *semaphore, wp_waiter *waiter);
/* Of a grant: WP_OK or WP_CLOSED; what was received. [the waiter's thread | wait-free] */
int wp__waiter_result(const wp_waiter *waiter);
void *wp__waiter_value(const wp_waiter *waiter);
/* cdef: end */

#endif
