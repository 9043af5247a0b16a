/* SPDX-License-Identifier: Apache-2.0
 * binding.h - what Python needs beside the kernel: objects on the heap, and a queue that a
 * selector can watch.
 *
 *   consumer (take)                              producer (put)
 *   pop; got an item: done                       [B1] enter the gate; closed: back out
 *   drain the eventfd, announce, pop again       push; signal: owed a wake? write the eventfd
 *   got one: leave; unless a producer            [B2] leave the gate
 *   claimed the wake, write the eventfd itself   closer
 *   nothing: stay announced                      [B3] close the gate, [B4] wait until it is empty
 *
 * Why it works  Announce, fence, pop is the guard's protocol with the pop as its re-check: a push
 *               that the pop missed sees the promise and writes, and a hostage's successor does so
 *               when it is published. Hence: if something is published, the eventfd is readable
 *               or a write is on its way. Python keeps its objects by item address, so no
 *               reference count is touched without the GIL.
 * Not promised  That a readable eventfd means an item; that take finds an item that is hostage.
 * Spec          specs/queue/Mpsc.tla, Guard.tla (sticky signal).
 * Evidence      tests/queue/test_mpsc.py, tests/wakeup/test_guard.py,
 *               tests/wakeup/test_parker.py. */
#ifndef WP_BINDING_H
#define WP_BINDING_H

#include "inspect/dump.h"
#include "thread/snapshot.h"
#include "base/error.h"
#include "sched/trace.h"
#include "wakeup/guard.h"
#include "queue/mpsc.h"
#include "wakeup/parker.h"
#include "sched/poller.h"
#include "base/topology.h"
#include "sched/vthread_start.h"

/* cdef: begin */
typedef struct wp_parker wp_parker;
typedef struct wp_guard wp_guard;
typedef struct wp_rendezvous wp_rendezvous;
typedef struct wp_mpsc wp_mpsc;
typedef struct wp__inbox wp__inbox;
typedef struct wp__item wp__item;
typedef struct wp_task wp_task;
typedef struct wp_group wp_group;
typedef struct wp_vthread wp_vthread;

/* Each new: NULL and errno if there is no memory. Each free: NULL is allowed, nobody may use the
 * object. Asymmetric fences become symmetric where the system lacks membarrier. [any thread] */
wp_parker *wp__parker_new(void);
void wp__parker_free(wp_parker *parker);
wp_guard *wp__guard_new(bool asymmetric);
void wp__guard_free(wp_guard *guard);
bool wp__guard_is_asymmetric(const wp_guard *guard);
wp_rendezvous *wp__rendezvous_new(bool asymmetric);
void wp__rendezvous_free(wp_rendezvous *rendezvous);
bool wp__rendezvous_is_asymmetric(const wp_rendezvous *rendezvous);
/* The guard inside, as long as the rendezvous lives: to announce and to leave. [the poller] */
wp_guard *wp__rendezvous_guard(wp_rendezvous *rendezvous);

/* Also NULL if no eventfd can be had. Free frees the queued items and closes the eventfd. */
wp__inbox *wp__inbox_new(void);
void wp__inbox_free(wp__inbox *inbox);
wp__item *wp__item_new(void);
void wp__item_free(wp__item *item);

/* Appends the item: WP_OK; WP_CLOSED: the item is still the caller's; WP_SYSTEM: appended, but the
 * eventfd took no write. [any thread | wait-free, one system call if the consumer is announced] */
int wp__inbox_put(wp__inbox *inbox, wp__item *item);

/* The two steps of a put: tests open the bubble between them. A reserve that succeeds must be
 * followed by its publish before the inbox is closed. [any thread | wait-free] */
int wp__inbox_reserve(wp__inbox *inbox, wp__item *item);
int wp__inbox_publish(wp__inbox *inbox, wp__item *item);

/* The oldest item, now the caller's; NULL: closed, or nothing to take, and then the eventfd is
 * armed. [any thread, one after the other | a few system calls if there is nothing] */
wp__item *wp__inbox_take(wp__inbox *inbox);

/* Frees the queued items, makes the eventfd readable for good. [any thread | waits for puts and
 * takes in flight] */
void wp__inbox_close(wp__inbox *inbox);

bool wp__inbox_is_closed(wp__inbox *inbox); /* [any thread | wait-free] */
int wp__inbox_fileno(wp__inbox *inbox);     /* the eventfd, until free [any thread | wait-free] */
uint64_t
wp__inbox_signals(wp__inbox *inbox); /* writes to the eventfd so far [any thread | wait-free] */
wp_mpsc *wp__inbox_mpsc(wp__inbox *inbox); /* to ask it questions [any thread | wait-free] */

/* A task that calls Python, known by a number; it frees itself when it has ended. name: as in
 * wp_task. NULL: no memory. */
wp_task *wp__job_new(int (*step)(wp_task *job), uint64_t number, bool is_pinned, const char *name);
uint64_t wp__job_number(wp_task *job);
void wp__job_free(wp_task *job); /* one that was not started, or was handed back */

/* What a close hands back comes as a list: first, then one after the other, until NULL. Virtual
 * threads are among it; a free leaves them to wp_vthread_free. */
bool wp__job_is_virtual(wp_task *job);
wp_task *wp__job_next(wp_task *job);
bool wp__job_was_parked(wp_task *job);

/* As wp_group_close. *back: the list, untouched unless it is WP_OK. [any thread | blocks] */
int wp__group_close(wp_group *group, int64_t deadline_ns, bool cancel, wp_task **back);

/* As wp_group_free; the memory of its threads is kept for those of later groups. For how many, it
 * says. [as it; any thread | wait-free] */
void wp__group_free(wp_group *group);
uint32_t wp__kept(void);

/* What a virtual thread does on a carrier, by its number: gives an enum wp_step. [once, before the
 * first is made] */
void wp__vthread_steps(int (*step)(uint64_t number));

/* Without a stack; carrier, is_pinned, has_no_locals: as wp_vthread_config says; scheduler: a
 * wp_scheduler, or NULL; the name is copied. NULL and errno: no memory. [any thread | blocks
 * briefly] */
wp_vthread *wp__vthread_new(wp_group *group, uint64_t number, const char *name, int carrier,
			    bool is_pinned, bool has_no_locals, const void *scheduler);

/* The scheduler whose submit calls `given`, by the number of the thread. [once, before the first
 * is made] */
const void *wp__scheduler(void (*given)(uint64_t number));
/* As wp_vthread_is_interrupted. [as it] */
bool wp__vthread_is_interrupted(wp_vthread *thread);
/* As wp_vthread_run. [as it] */
int wp__vthread_run(wp_vthread *thread);
/* As wp_vthread_submit_and_yield, but for the yield. starts: else it unparks. [as it] */
int wp__vthread_submit_next(wp_vthread *thread, bool starts);
uint64_t wp__vthread_id(wp_vthread *thread); /* its number [any thread | wait-free] */
int wp__vthread_home(wp_vthread *thread);    /* index of its carrier [any thread | wait-free] */
/* The same, once its group has chosen it, where that is to: it is about to start. [who made it |
 * wait-free] */
int wp__vthread_placed(wp_vthread *thread);

/* Whether the caller is a carrier that has nothing to run. [any thread | wait-free] */
bool wp__worker_has_none(void);
/* Call at the end of a step of Python, which is to say `said`. Ends that step, and runs the step of
 * the thread that the carrier would run next, whose word it returns. -1, and nothing is done: the
 * carrier would run something else, or nothing. [the thread's carrier | as the carrier's loop] */
int wp__vthread_then(int said);

/* Of its word: 0 parked, 1 queued or run, 2 ended, 3 handed back parked, 9 asleep on its carrier.
 * [any thread, before wp_vthread_free | wait-free] */
int wp__vthread_state(wp_vthread *thread);

/* Whether a deadline ends the park in which wp__dump_look saw it; meaningless, unless
 * wp__dump_is_still says afterwards that it is in that park. [any thread, before wp_vthread_free |
 * wait-free] */
bool wp__vthread_is_timed(wp_vthread *thread);

/* Which park of the caller comes next; -1: it is no virtual thread. Whoever wakes that one, and no
 * later one, leaves no permit behind. [any thread | wait-free; as wp_carrier_submit] */
int64_t wp__vthread_park_number(void);
void wp__vthread_unpark_if(wp_vthread *thread, uint32_t number);

/* Of a poller, by its number: its wakeup; its carrier has none again, as wp_poller_config says. [once,
 * before the first is made] */
void wp__poller_hooks(void (*wakeup)(uint64_t number), void (*left)(uint64_t number));

/* As wp_poller_register, without a stack. *thread: untouched unless it is WP_OK; it may have ended by
 * then. [any thread | as wp_vthread_start] */
int wp__poller_register(wp_group *group, uint32_t carrier, uint64_t number, const char *name,
			bool blocks, wp_vthread **thread);

/* Whose poller that carrier has; 0: none, or one of the kernel's. [any thread | blocks briefly] */
uint64_t wp__poller_number(wp_group *group, uint32_t carrier);

void wp__thread_name(const char *name); /* the caller's, 15 bytes at most */

/* One default group per process, however many copies of this library it has loaded. NULL: this copy
 * makes it, in the name of `by`. Else who has made it, or makes it just now: of two that try at
 * once, both may be refused. [any thread | reads the list of loaded objects] */
const char *wp__default_claim(const char *by);
void wp__default_unclaim(void);      /* it was not made [who claimed it | wait-free] */
const char *wp__default_maker(void); /* in this copy; NULL: nobody [any thread | wait-free] */
/* cdef: end */

#endif
