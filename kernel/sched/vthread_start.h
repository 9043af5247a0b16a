/* SPDX-License-Identifier: Apache-2.0
 * vthread_start.h - virtual threads of a group: how they are made, started, parked, joined and
 * ended.
 *
 *   wp_vthread *thread;
 *   int failure;
 *   wp_vthread_new(group, &(wp_vthread_config){.run = body, .arg = arg}, &thread);
 *   wp_vthread_start(thread);
 *   wp_vthread_join(thread, WP_FOREVER, &failure);
 *   wp_vthread_free(thread);
 *
 *   carrier, or the thread that runs it for a       the thread, on a stack of its own
 *   scheduler
 *   [vthread.2] the park is over                    runs
 *   switch to its stack, or call its step           parks: arms its timer; switches back
 *   it has parked? [vthread.3]                      continues: cancels its timer
 *   it has yielded? push it                         returns from its body: switches back for good
 *   it has ended? take it off its home's list,
 *     [vthread.7], open its latch
 *
 * Why it works  The word changes only when the thread has left its stack (vthread.h), so the next
 *               runner finds the stack complete. A thread is listed at its home until it has ended,
 *               on whichever carrier it runs, so a close waits for it. Its memory is reused when it
 *               has ended and its maker has called wp_vthread_free. Until the group is freed this
 *               memory stays that of a thread, and its park numbers continue, so a late waker finds
 *               a number that is over. A timer is armed with the carrier that runs the thread, and
 *               so takes no lock of another carrier.
 * Schedulers    A user's scheduler may replace the queues. Each thread that becomes runnable is
 *               given to its `submit`. The scheduler must then run it once, by wp_vthread_run, on
 *               any OS thread that runs no virtual thread. While `submit` is called, the caller
 *               does not count as a virtual thread: what `submit` calls blocks the carrier, and
 *               takes no permit. A close of the group waits for threads that a scheduler holds,
 *               until its time is over. It then returns WP_TIMEOUT, and the scheduler must run each
 *               of these threads until it parks or ends, before the next close.
 * Not promised  There are no time slices. errno, and anything else that belongs to an OS thread,
 *               may change in a park.
 * Prior art     Java's virtual threads: mounting, parking, pinning, and LockSupport's permit.
 * Spec          specs/thread/VThread.tla.
 * Evidence      make check-specs T=VThread, tests/sched/test_vthread_stackful.py. */
#ifndef WP_VTHREAD_START_H
#define WP_VTHREAD_START_H

#include "sched/group.h"
#include "thread/hooks.h"
#include "thread/vthread.h"
#include "thread/wait_reason.h"

/* cdef: begin */
typedef struct wp_vthread wp_vthread;

enum {
	WP_VTHREAD_NAME = 32,  /* bytes of a name with its end; longer ones are cut */
	WP_VTHREAD_HERE = -1,  /* a carrier: the group chooses when the thread starts */
	WP_VTHREAD_SIZES = 16, /* different stack sizes in one group */
};
/* cdef: end */

/* Replaces the queues for a thread, from its start to its end. */
typedef struct wp_scheduler {
	/* Must run the thread once, by wp_vthread_run, now or later. [any thread | may block] */
	void (*submit)(void *arg, wp_vthread *thread);
	void *arg;
} wp_scheduler;

/* The default configuration has all fields zero except `run` or `step`; carrier 0 is the first one.
 */
typedef struct wp_vthread_config {
	const char *name; /* copied; NULL: none */
	/* The body, on a stack of its own. Returns 0 or an error code, which the join gets. */
	int (*run)(void *arg);
	enum wp_step (*step)(wp_task *task); /* in place of run: no stack; parks by its result */
	void *arg;
	uint64_t stack_bytes; /* 0: WP_STACK_BYTES */
	int carrier;          /* its home, or WP_VTHREAD_HERE */
	bool is_pinned;       /* only its home may run it */
	bool has_no_locals;
	/* A thread with a stack has its own rounding mode and other control words of floating
	 * point, at first those of its maker. Without this it must leave them as they are. */
	bool keeps_rounding;
	const wp_scheduler *scheduler; /* outlives the thread; NULL: the home's queues */
	/* Called when the thread has ended, or when a close hands it back: by the thread's runner,
	 * or by the close. The caller does not count as a virtual thread, and must not park. NULL:
	 * nothing is called. */
	void (*left)(wp_vthread *thread);
} wp_vthread_config;

/* Makes a thread; start it next. Returns WP_OK; or WP_SYSTEM and sets errno if there is no memory,
 * or if WP_VTHREAD_SIZES stack sizes exist already, and then nothing is left behind. [any thread |
 * wait-free while its carrier has a stack; else blocks briefly] */
WP_API int wp_vthread_new(wp_group *group, const wp_vthread_config *config, wp_vthread **thread);

/* cdef: begin */
/* Starts the thread. Returns WP_OK; WP_CLOSED if its group is closing; or WP_FORBIDDEN if it was
 * started before. [its maker | as wp_group_start] */
WP_API int wp_vthread_start(wp_vthread *thread);

/* The last call of the maker for this thread. The memory is reused when the thread has ended, or at
 * once if it was not started. [its maker, or a thread that acts for the maker | wait-free] */
WP_API void wp_vthread_free(wp_vthread *thread);

/* Waits until the thread has ended. WP_OK: it has, and *failure is the result of its body.
 * WP_TIMEOUT. WP_INTERRUPTED. WP_CLOSED: a close has handed the thread back, and it never ends.
 * WP_FORBIDDEN: the thread is the caller. [any thread, before wp_vthread_free | blocks] */
WP_API int wp_vthread_join(wp_vthread *thread, int64_t deadline_ns, int *failure);

/* Returns the calling virtual thread, or NULL if the caller is none. The value is the same on any
 * carrier. [any thread | wait-free] */
WP_API wp_vthread *wp_vthread_current(void);

/* Gives the thread its permit, which ends its park. [any thread, before wp_vthread_free | as
 * wp_carrier_submit] */
WP_API void wp_vthread_unpark(wp_vthread *thread);

/* Sets the thread's interrupt flag, and gives the permit. [as wp_vthread_unpark] */
WP_API void wp_vthread_interrupt(wp_vthread *thread);

/* Clears the caller's interrupt flag, and returns what it was. [a virtual thread | wait-free] */
WP_API bool wp_vthread_clear_interrupt(void);

/* Parks: takes the permit, or leaves the carrier until the permit comes. WP_OK: the permit was
 * taken. WP_TIMEOUT: it was not taken. WP_INTERRUPTED: the interrupt flag is set, and the permit
 * may have been taken. WP_FORBIDDEN: the caller is not a virtual thread. In a pinned section, or
 * without a stack, the carrier sleeps as well, unless a spare thread runs it meanwhile
 * (spare_thread.h). [a virtual thread | parks] */
WP_API int wp_vthread_park_until(int64_t deadline_ns);

/* Sleeps, and takes no permit. Returns WP_OK after the deadline, or WP_INTERRUPTED. [a virtual
 * thread | parks] */
WP_API int wp_vthread_sleep_until(int64_t deadline_ns);

/* Lets other tasks run. All tasks that the carrier of its home has queued there come before the
 * caller; tasks that others queue take turns with these. In a pinned section it does nothing. [a
 * virtual thread | yields] */
WP_API void wp_vthread_yield(void);

/* Begin and end a pinned section, in which the thread does not leave its carrier. Sections nest. [a
 * virtual thread | wait-free] */
WP_API void wp_vthread_pin(void);
WP_API void wp_vthread_unpin(void);

/* Makes the carrier that runs the thread now the thread's home and the only carrier that may run
 * it. Returns the carrier's index, or WP_FORBIDDEN if no carrier of its group runs it or the caller
 * is not a virtual thread. [a virtual thread | wait-free] */
WP_API int wp_vthread_settle(void);

/* The two halves of a park, for threads without a stack. If the first returns WP_MUST_PARK, return
 * WP_STEP_PARK from the step, and call the second when the step is called again. Any other result
 * is that of wp_vthread_park_until, which is then over. [the thread | wait-free] */
int wp__vthread_park_begin(int64_t deadline_ns);
int wp__vthread_park_end(void);
/* Like the first half, and like wp_vthread_park_until, but with the reason of the wait and its
 * descriptor or number of permits, which an event records. */
int wp__vthread_park_begin_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);

WP_API const char *wp_vthread_name(wp_vthread *thread); /* or NULL [any thread | wait-free] */
WP_API void *wp_vthread_arg(wp_vthread *thread);        /* [any thread | wait-free] */
/* cdef: end */

/* Starts the thread, or unparks it if it was started, and yields. If run queues are bounded
 * (group.h), the thread runs next, provided that this carrier is its home and has nothing else
 * queued; otherwise it is queued as any other. Returns WP_OK. Any other result is that of
 * wp_vthread_start, and then nothing was done. In a pinned section, or on a thread that is not
 * virtual, the call only starts or unparks. [any thread; a start: its maker | as wp_group_start] */
WP_API int wp_vthread_submit_and_yield(wp_vthread *thread);

/* Runs a thread that was given to a scheduler, until it parks, yields or ends. Returns WP_OK.
 * Returns WP_FORBIDDEN if the caller is a virtual thread itself, or if the thread was not given out
 * or was run already. [an OS thread | runs the thread] */
WP_API int wp_vthread_run(wp_vthread *thread);

/* A key for values. For the address of each wp_local, each virtual thread has one value, which is
 * NULL at first. */
typedef struct wp_local {
	/* Called when a thread ends, with the thread's value unless that is NULL. It is not called
	 * for threads that a close hands back. NULL: nothing is called. */
	void (*fini)(void *value);
} wp_local;

/* Returns the caller's value. [a virtual thread | wait-free] */
WP_API void *wp_local_get(const wp_local *key);
/* Sets the caller's value. Returns WP_OK; WP_SYSTEM if there is no memory; or WP_FORBIDDEN if the
 * thread may have no values. [a virtual thread | allocates] */
WP_API int wp_local_set(const wp_local *key, void *value);

/* Lets the group choose the home of a thread that is about to start, unless it was chosen already.
 * [its maker | wait-free] */
void wp__vthread_place(wp_vthread *thread);
/* Pushes the thread, when wp__vthread_notify has returned that the caller must. [any thread | as
 * wp_carrier_submit] */
void wp__vthread_push(wp_vthread *thread);
/* Does what an unpark requires of its caller: pushes the thread, or wakes its carrier. [any thread
 * | as wp_carrier_submit] */
void wp__vthread_pay(wp_vthread *thread, enum wp_owed owed);
/* Ends the joins of a thread that a close hands back. [the close | wait-free] */
void wp__vthread_abandon(wp_vthread *thread);

#endif
