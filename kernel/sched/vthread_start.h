/* SPDX-License-Identifier: Apache-2.0
 * vthread_start.h - virtual threads of a group: made, started, parked, joined, ended.
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
 *   parked? [vthread.3]; yielded? push; ended? off  goes on: cancels its timer
 *     its home's list, [vthread.7], open its latch  returns from its body: switches back for good
 *
 * Why it works  The word changes only when the thread has left its stack (vthread.h), so its next
 *               runner finds it whole. A thread is listed at its home until it has ended, on
 *               whichever carrier it runs, so a close waits for it. Its memory is reused when it
 *               has ended and its maker has let go of it. Until the group is freed this memory
 *               stays that of a thread, and its park numbers go on, so a late waker meets a number
 *               that is over. A timer is armed with the carrier that runs the thread, and so takes
 *               no lock of another carrier.
 * Schedulers    A user's scheduler may replace the queues. It is given each thread that is to run,
 *               and must have it run once, by wp_vthread_run, on any OS thread that runs no virtual
 *               thread. While a thread is given to the scheduler, the giver does not count as a
 *               virtual thread: what it calls blocks its carrier, and takes no permit. A close of
 *               the group waits for threads that a scheduler holds until its time is over. It then
 *               returns WP_TIMEOUT, and the scheduler must run the thread until it parks or ends,
 *               before the next close.
 * Not promised  Time slices. That errno, or anything else that belongs to an OS thread, survives a
 *               park.
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
	/* Must have the thread run once, by wp_vthread_run. [any thread | may block] */
	void (*submit)(void *arg, wp_vthread *thread);
	void *arg;
} wp_scheduler;

/* Zeroed except for run or step, it holds the defaults; carrier 0 is the first one. */
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
	const wp_scheduler *scheduler; /* outlives the thread; NULL: the home's queues */
	/* Called when the thread has ended, or a close hands it back: by its runner or by the
	 * close, and not as a virtual thread. It must not park. NULL: nothing. */
	void (*left)(wp_vthread *thread);
} wp_vthread_config;

/* Makes a thread; start it next. Returns WP_OK; WP_SYSTEM and errno: no memory, or WP_VTHREAD_SIZES
 * sizes exist; nothing is left behind. [any thread | wait-free while its carrier has a stack; else
 * blocks shortly] */
WP_API int wp_vthread_new(wp_group *group, const wp_vthread_config *config, wp_vthread **thread);

/* cdef: begin */
/* Starts the thread. Returns WP_OK; WP_CLOSED: its group is closing; WP_FORBIDDEN: it was started
 * before.
 * [its maker | as wp_group_start] */
WP_API int wp_vthread_start(wp_vthread *thread);

/* The maker's last call. The memory is reused when the thread has ended, or at once if it was not
 * started. [its maker, or a thread that acts for the maker | wait-free] */
WP_API void wp_vthread_free(wp_vthread *thread);

/* Waits until the thread has ended. Returns WP_OK, and in *failure the result of its body;
 * WP_TIMEOUT; WP_INTERRUPTED; WP_CLOSED: a close has handed it back, and it never ends;
 * WP_FORBIDDEN: it is the caller. [any thread, before wp_vthread_free | blocks] */
WP_API int wp_vthread_join(wp_vthread *thread, int64_t deadline_ns, int *failure);

/* The calling virtual thread; NULL: the caller is not one. The value is the same on any carrier.
 * [any thread | wait-free] */
WP_API wp_vthread *wp_vthread_current(void);

/* Gives the thread its permit, which ends its park. [any thread, before wp_vthread_free | as
 * wp_carrier_submit] */
WP_API void wp_vthread_unpark(wp_vthread *thread);

/* Sets the thread's interrupt flag, and gives the permit. [as wp_vthread_unpark] */
WP_API void wp_vthread_interrupt(wp_vthread *thread);

/* Clears the caller's interrupt flag, and returns what it was. [a virtual thread | wait-free] */
WP_API bool wp_vthread_clear_interrupt(void);

/* Takes the permit, or leaves its carrier until the permit comes. Returns WP_OK: taken; WP_TIMEOUT:
 * not taken; WP_INTERRUPTED: the interrupt flag is set, and the permit may be taken. In a pinned
 * section, or without a stack, the carrier sleeps as well, unless a spare thread carries on
 * (spare_thread.h). WP_FORBIDDEN: the caller is not a virtual thread. [a virtual thread | parks] */
WP_API int wp_vthread_park_until(int64_t deadline_ns);

/* Sleeps, and takes no permit. Returns WP_OK: it is time; WP_INTERRUPTED. [a virtual thread |
 * parks] */
WP_API int wp_vthread_sleep_until(int64_t deadline_ns);

/* Lets other tasks run: all that its home's carrier has queued there come first; tasks that others
 * queue take turns with these. In a pinned section it does nothing. [a virtual thread | yields] */
WP_API void wp_vthread_yield(void);

/* Begin and end a pinned section, in which the thread does not leave its carrier. Sections nest. [a
 * virtual thread | wait-free] */
WP_API void wp_vthread_pin(void);
WP_API void wp_vthread_unpin(void);

/* Makes the carrier that runs the thread now its home and its only carrier, and returns the
 * carrier's index. WP_FORBIDDEN: no carrier of its group runs it, or the caller is not a virtual
 * thread. [a virtual thread | wait-free] */
WP_API int wp_vthread_settle(void);

/* The two halves of a park, for threads without a stack. If the first returns WP_MUST_PARK, return
 * WP_STEP_PARK from the step, and call the second when the step is called again. Any other result
 * is that of wp_vthread_park_until, which is then over. [the thread | wait-free] */
int wp__vthread_park_begin(int64_t deadline_ns);
int wp__vthread_park_end(void);
/* The first half, and wp_vthread_park_until, with the reason of the wait and its descriptor or
 * number of permits, for an event. */
int wp__vthread_park_begin_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);

WP_API const char *wp_vthread_name(wp_vthread *thread); /* or NULL [any thread | wait-free] */
WP_API void *wp_vthread_arg(wp_vthread *thread);        /* [any thread | wait-free] */
/* cdef: end */

/* Starts the thread, or unparks it if it was started, and yields. Where run queues are bounded
 * (group.h) that thread runs next, if this carrier is its home and has nothing else queued; else it
 * is queued as any other. Returns WP_OK; any other result is that of wp_vthread_start, and nothing
 * was done. In a pinned section, or on a thread that is not virtual, it only starts or unparks.
 * [any thread; a start: its maker | as wp_group_start] */
WP_API int wp_vthread_submit_and_yield(wp_vthread *thread);

/* Runs a thread that was given to a scheduler until it parks, yields or ends. Returns WP_OK;
 * WP_FORBIDDEN: the caller is a virtual thread itself, or the thread was not given out, or was run
 * already. [an OS thread | runs the thread] */
WP_API int wp_vthread_run(wp_vthread *thread);

/* A key: each virtual thread has one value, at first NULL, for the address of each wp_local. */
typedef struct wp_local {
	/* Called with the value of each thread that ends with one, and so not for threads that a
	 * close hands back. NULL: nothing. */
	void (*fini)(void *value);
} wp_local;

/* The caller's value. [a virtual thread | wait-free] */
WP_API void *wp_local_get(const wp_local *key);
/* Sets the caller's value. Returns WP_OK; WP_SYSTEM: no memory; WP_FORBIDDEN: the thread may have
 * no values. [a virtual thread | allocates] */
WP_API int wp_local_set(const wp_local *key, void *value);

/* Lets the group choose the home of a thread that is about to start, unless it was chosen already.
 * [its maker | wait-free] */
void wp__vthread_place(wp_vthread *thread);
/* Pushes the thread, when wp__vthread_notify has returned that the caller must. [any thread | as
 * wp_carrier_submit] */
void wp__vthread_push(wp_vthread *thread);
/* Does what an unpark owes: push the thread, or wake its carrier. [any thread | as
 * wp_carrier_submit] */
void wp__vthread_pay(wp_vthread *thread, enum wp_owed owed);
/* Ends the joins of a thread that a close hands back. [the close | wait-free] */
void wp__vthread_abandon(wp_vthread *thread);

#endif
