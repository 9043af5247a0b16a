/* SPDX-License-Identifier: Apache-2.0
 * vthread_start.h - virtual threads of a group: made, started, parked, joined, ended.
 *
 *   carrier, or who was given it by a scheduler     the thread, on a stack of its own
 *   [vthread.2] the park is over                    runs
 *   switch to its stack, or call its step           parks: arms its timer; switches back
 *   parked? [vthread.3]; yielded? push; ended? off  goes on: cancels its timer
 *     its home's list, [vthread.7], open its latch  returns from its body: switches back for good
 *
 * Why it works  The word changes when the thread has left its stack (vthread.h), so whoever runs it
 *               next finds it whole. A thread is listed at its home until it has ended, whoever
 *               runs it, so a close waits for it. Its memory goes back for reuse when it has ended
 *               and its maker has let go of it; it stays memory until the group is freed, and its
 *               park numbers go on, so a late waker meets a number that is over.
 *               A timer is armed with the carrier that runs the thread: no other thread's lock.
 * Schedulers    One may stand in for the queues: it is given each thread that is to run and must
 *               have it run, once, by wp_vthread_run, on any OS thread that is not mounted. While
 *               it is given one, the thread that does so is not itself a virtual one: what it calls
 *               blocks its carrier, and takes no permit. A close of the group waits for what a
 *               scheduler has, until its time is over: WP_TIMEOUT, and the thread is to be run,
 *               until it parks or ends, before the next close.
 * Not promised  Time slices. errno across a park, and what else is an OS thread's.
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
	WP_VTHREAD_NAME = 32,  /* bytes of a name, with its end; longer ones are cut */
	WP_VTHREAD_HERE = -1,  /* as carrier: where its group places it when it starts */
	WP_VTHREAD_SIZES = 16, /* of stacks, in one group */
};
/* cdef: end */

/* Stands in for the queues of a thread, from its start to its end. */
typedef struct wp_scheduler {
	/* Have it run, once, by wp_vthread_run. [any thread | may block] */
	void (*submit)(void *arg, wp_vthread *thread);
	void *arg;
} wp_scheduler;

/* Zeroed but for run or step, it is what to use; carrier 0 is the first. */
typedef struct wp_vthread_config {
	const char *name;      /* is copied; NULL: none */
	int (*run)(void *arg); /* on a stack of its own; gives 0, or how it failed, for the join */
	enum wp_step (*step)(wp_task *task); /* instead: no stack; it parks by saying so */
	void *arg;
	uint64_t stack_bytes; /* 0: WP_STACK_BYTES */
	int carrier;          /* its home, or WP_VTHREAD_HERE */
	bool is_pinned;       /* only its home may run it */
	bool has_no_locals;
	const wp_scheduler *scheduler; /* outlives it; NULL: its home's carrier */
	/* When it has ended, or a close hands it back: by its runner, or the close, and no virtual
	 * thread then; must not park. NULL: nothing. */
	void (*left)(wp_vthread *thread);
} wp_vthread_config;

/* WP_OK; WP_SYSTEM and errno: no memory, or WP_VTHREAD_SIZES are there; nothing is left then.
 * [any thread | wait-free while its carrier has a stack; then blocks shortly] */
WP_API int wp_vthread_new(wp_group *group, const wp_vthread_config *config, wp_vthread **thread);

/* cdef: begin */
/* WP_OK; WP_CLOSED: its group accepts none any more; WP_FORBIDDEN: it was started before. [who made
 * it | as wp_group_start] */
WP_API int wp_vthread_start(wp_vthread *thread);

/* Its maker's last call: its memory is reused when it has ended, or at once, if it was not started.
 * [who made it, or in its name | wait-free] */
WP_API void wp_vthread_free(wp_vthread *thread);

/* Waits until it has ended: WP_OK, and how it failed, or 0. WP_TIMEOUT, WP_INTERRUPTED; WP_CLOSED:
 * a close has handed it back, it never ends; WP_FORBIDDEN: it is the caller. [any thread, before
 * wp_vthread_free | blocks] */
WP_API int wp_vthread_join(wp_vthread *thread, int64_t deadline_ns, int *failure);

/* The calling virtual thread; NULL: the caller is none. The same on any carrier. [any thread |
 * wait-free] */
WP_API wp_vthread *wp_vthread_current(void);

/* Gives the permit. [any thread, before wp_vthread_free | as wp_carrier_submit] */
WP_API void wp_vthread_unpark(wp_vthread *thread);

/* Sets its flag, and gives the permit. [as wp_vthread_unpark] */
WP_API void wp_vthread_interrupt(wp_vthread *thread);

/* Was the caller interrupted? No more, from now on. [a virtual thread | wait-free] */
WP_API bool wp_vthread_clear_interrupt(void);

/* Takes the permit, or leaves its carrier until it comes: WP_OK; or WP_TIMEOUT, and no permit is
 * taken; or WP_INTERRUPTED, as long as the flag is set: one may be taken. In a pinned section, or
 * without a stack, its carrier sleeps as well, unless a spare carries on (spare_thread.h).
 * WP_FORBIDDEN: the caller is no virtual thread.
 * [a virtual thread | parks] */
WP_API int wp_vthread_park_until(int64_t deadline_ns);

/* WP_OK: it is time; WP_INTERRUPTED. Takes no permit. [a virtual thread | parks] */
WP_API int wp_vthread_sleep_until(int64_t deadline_ns);

/* After all that its home's carrier has queued there; what others queue takes turns with these. In
 * a pinned section: nothing. [a virtual thread] */
WP_API void wp_vthread_yield(void);

/* Pinned sections nest: in one, the thread does not leave its carrier. [a virtual thread |
 * wait-free] */
WP_API void wp_vthread_pin(void);
WP_API void wp_vthread_unpin(void);

/* From now on the carrier that runs it now does, alone, and is its home: whose number this gives.
 * WP_FORBIDDEN: no carrier of its group does, or the caller is no virtual thread. [a virtual thread
 * | wait-free] */
WP_API int wp_vthread_settle(void);

/* For threads without a stack, the two halves of a park. The first: WP_MUST_PARK: say WP_STEP_PARK,
 * and call the second when it goes on; else as wp_vthread_park_until, which is then over. [the
 * thread | wait-free] */
int wp__vthread_park_begin(int64_t deadline_ns);
int wp__vthread_park_end(void);
/* The same, and wp_vthread_park_until: with what it waits for, and which descriptor or how many
 * permits, for an event. */
int wp__vthread_park_begin_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);
int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on);

WP_API const char *wp_vthread_name(wp_vthread *thread); /* or NULL [any thread | wait-free] */
WP_API void *wp_vthread_arg(wp_vthread *thread);        /* [any thread | wait-free] */
/* cdef: end */

/* Starts that thread, or unparks it if it was started, and yields. Where run queues are bounded
 * (group.h) that thread is next, if this carrier is its home and has nothing else queued; else it
 * is queued as any other. WP_OK, or as wp_vthread_start, and nothing was done. In a pinned section,
 * and for who is no virtual thread, no more than the start or unpark. [any thread; of a start: who
 * made it | as wp_group_start] */
WP_API int wp_vthread_submit_and_yield(wp_vthread *thread);

/* Mounts a thread that a scheduler was given, until it parks, yields or ends. WP_FORBIDDEN: the
 * caller is a virtual thread itself, or the thread was not given out, or was run for it already.
 * [an OS thread | runs it] */
WP_API int wp_vthread_run(wp_vthread *thread);

/* What a thread keeps by key, the address of one of these; NULL at first. */
typedef struct wp_local {
	/* Of each thread that ends with one, and so of none that a close hands back; NULL:
	 * nothing. */
	void (*fini)(void *value);
} wp_local;

/* [a virtual thread | wait-free] */
WP_API void *wp_local_get(const wp_local *key);
/* WP_OK; WP_SYSTEM: no memory; WP_FORBIDDEN: it must have none. [a virtual thread | allocates] */
WP_API int wp_local_set(const wp_local *key, void *value);

/* It is about to start: its group chooses its home, if nobody has, nor did this before. [who made
 * it | wait-free] */
void wp__vthread_place(wp_vthread *thread);
/* Pushes it: whom wp__vthread_notify told to. [any thread | as wp_carrier_submit] */
void wp__vthread_push(wp_vthread *thread);
/* Its flag is what an unpark owes. [any thread | as wp_carrier_submit] */
void wp__vthread_pay(wp_vthread *thread, enum wp_owed owed);
/* A close hands it back: whoever joins it is told. [the close | wait-free] */
void wp__vthread_abandon(wp_vthread *thread);

#endif
