/* SPDX-License-Identifier: Apache-2.0
 * wait_queue.h - a FIFO of waiters with direct hand-off; virtual threads and OS threads wait in one
 * list.
 *
 * A new kind of wait calls, in this order:
 *   wp__waiter_stands  before it gets in line. It passes its `leave`, which the close of a group
 *                      calls in place of a thread that stands in line. `leave` gets the waiter out
 *                      as a canceller does, under the object's lock, and does what follows from
 *                      that (wakes or serves the next). If the waiter was granted, `leave` gives
 *                      the grant to the next in line, or back to the object.
 *   wp__waiter_over    when the wait has ended, however it did. wp__waiter_check and
 *                      wp__waiter_cancel have called it when they return that the wait has ended.
 * A thread that wakes a waiter without taking it off prepares the wake under the object's lock
 * (mutex.c).
 *
 *   waiter                                granter
 *   under the object's lock: get in line  under the object's lock: take one off the line,
 *     with the number of its park           and give it what it waits for
 *   park, at least once                   after it:
 *   [wait_queue.1] granted: done            [wait_queue.2] state := GRANTED
 *   spurious wakeup, under the lock:        wake: a futex, or that park of a virtual thread
 *     in line: the next number, park again
 *   timeout, or refused, under the lock:
 *     in line: get out
 *   taken off: [wait_queue.3] wait for GRANTED
 *
 *   state     meaning                                              written by
 *   WAITS     It is in line, or was taken off a moment ago.        the waiter
 *   LOOK      It is in line; something has come free, so look.     a thread under the lock
 *   GRANTED   It is granted; its memory is its own again.          its granter, once
 *
 * Why it works  One lock decides which waiters are in line. So a waiter that gets out has been
 *               given nothing, and one that was taken off has been granted and reports that,
 *               however late it is. The granter reads which thread to wake before wait_queue.2, and
 *               touches neither waiter nor object after it. So a thread that sees GRANTED may free
 *               both: a futex is only an address by then, a virtual thread's memory remains a
 *               virtual thread's, and the free of its group waits for the granter, which is counted
 *               in before wait_queue.2 (wakers.h). A park that has ended has another number, so a
 *               late wake ends no later park and leaves it no permit.
 * Not promised  That a park ends only for a grant: the waiter looks again. That a user's permit
 *               outlasts a wait: its parks take permits as any park does. How long wait_queue.3
 *               takes, if the granter has lost its CPU.
 * Prior art     parking_lot's fair unlock, for the direct hand-off; the sudog lists of Go's
 *               runtime.
 * Spec          specs/thread/WaitQueue.tla: NoLostGrant, NothingLost, UntouchedAfterGrant,
 *               NoStrayPermit.
 * Evidence      make check-specs T=WaitQueue, make stress T=wait_queue, wakeproof conform -t
 *               wait_queue. */
#ifndef WP_WAIT_QUEUE_H
#define WP_WAIT_QUEUE_H

#include <stddef.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/order.h"
#include "thread/hooks.h"
#include "thread/vthread.h"
#include "thread/wait_reason.h"
#include "thread/wakers.h"

/* Values of the state. */
enum { WP_WAITER_WAITS, WP_WAITER_LOOK, WP_WAITER_GRANTED };

struct wp_wait_queue;

/* 80 bytes: one wait of one thread, on its stack or in its frame. state is written by wait_queue.2,
 * mutex.11 and mutex.12; leave and object by its thread; the rest under the object's lock, or by
 * the thread that took it off. */
typedef struct wp_waiter {
	struct wp_waiter *next, *prev;
	struct wp_wait_queue *line;       /* the line that it is in; NULL: it was taken off */
	wp_vthread *thread;               /* NULL: an OS thread, which sleeps at `state` */
	void (*push)(wp_vthread *thread); /* queues the thread, if its unpark owes that */
	void *value;                      /* for the object */
	uint32_t number;                  /* number of its park */
	wp_atomic(uint32_t) state;
	uint32_t amount; /* for the object */
	int16_t result;  /* for the object; set with the grant */
	uint16_t why;    /* enum wp_wait, for an event */
	/* Gets out of the line, or gives back the grant; called by the close of the thread's
	 * group. */
	void (*leave)(struct wp_waiter *waiter);
	void *object; /* for `leave`: the object with the line */
} wp_waiter;

/* 16 bytes; changes under its object's lock. Zeroed is empty. */
typedef struct wp_wait_queue {
	wp_waiter *first, *last;
} wp_wait_queue;

/* Parks once: WP_OK (look again), WP_TIMEOUT or WP_INTERRUPTED. Call it before each look, the first
 * one too: otherwise a virtual thread keeps the permit of a grant for which it did not park.
 * [the waiter's thread | blocks] */
int wp__waiter_park(wp_waiter *waiter, int64_t deadline_ns);

/* For a wait that an interrupt does not end. True if it was interrupted: pass that to
 * wp__waiter_interrupt_again after the wait. [the waiter's thread | blocks] */
bool wp__waiter_park_through(wp_waiter *waiter);
void wp__waiter_interrupt_again(wp_waiter *waiter, bool was_interrupted);

/* Makes a waiter for the calling thread. [its thread | wait-free] */
void wp__waiter_init_self(wp_waiter *waiter, enum wp_wait why);

/* Makes a waiter for `thread`, which `push` queues. NULL and anything: for an OS thread.
 * [its thread | wait-free] */
WP_INLINE void wp__waiter_init(wp_waiter *waiter, wp_vthread *thread,
			       void (*push)(wp_vthread *thread))
{
	waiter->thread = thread;
	waiter->push = push;
	waiter->line = NULL;
	waiter->value = NULL;
	waiter->amount = 0;
	waiter->result = WP_OK;
	waiter->why = WP_WAIT_PARK;
	waiter->leave = NULL;
	waiter->object = NULL;
	wp_init(&waiter->state, WP_WAITER_WAITS);
}

/* Takes the number of the next park, before it gets in line or parks again.
 * [the waiter's thread; in line: under the lock | wait-free] */
WP_INLINE void wp__waiter_renew(wp_waiter *waiter)
{
	if (waiter->thread != NULL)
		waiter->number = wp__vthread_number(waiter->thread);
}

/* Call before the waiter gets in line, where its group's close finds it.
 * [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_stands(wp_waiter *waiter, void (*leave)(wp_waiter *waiter), void *object)
{
	waiter->leave = leave;
	waiter->object = object;
	if (waiter->thread != NULL)
		waiter->thread->waits = waiter;
	wp__waiter_renew(waiter);
}

/* The wait has ended. [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_over(wp_waiter *waiter)
{
	if (waiter->thread != NULL)
		waiter->thread->waits = NULL;
}

/* The thread will not run any more: takes it out of the line in which it stands.
 * [the close of its group, when no thread runs it | waits for a granter that has begun] */
WP_INLINE void wp__vthread_leave_line(wp_vthread *thread)
{
	wp_waiter *waiter = thread->waits;

	thread->waits = NULL;
	if (waiter != NULL)
		waiter->leave(waiter);
}

/* Its park was refused, for a deadline in the past or an interrupt. This ends that park all the
 * same, because otherwise a grant would leave its permit for the next one. Takes a user's permit
 * too, as a park does. [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_refused(wp_waiter *waiter)
{
	if (waiter->thread == NULL || wp__vthread_number(waiter->thread) != waiter->number)
		return; /* it has parked */
	wp__vthread_notify(waiter->thread);
	wp__vthread_take(waiter->thread);
}

/* Appends the waiter to the line. [the waiter's thread, under the lock | wait-free] */
WP_INLINE void wp__wait_queue_add(wp_wait_queue *line, wp_waiter *waiter)
{
	waiter->line = line;
	waiter->next = NULL;
	waiter->prev = line->last;
	if (line->last != NULL)
		line->last->next = waiter;
	else
		line->first = waiter;
	line->last = waiter;
}

/* Takes the waiter off its line. [any thread, under the lock | wait-free] */
WP_INLINE void wp__wait_queue_remove(wp_waiter *waiter)
{
	wp_wait_queue *line = waiter->line;

	if (waiter->prev != NULL)
		waiter->prev->next = waiter->next;
	else
		line->first = waiter->next;
	if (waiter->next != NULL)
		waiter->next->prev = waiter->prev;
	else
		line->last = waiter->prev;
	waiter->line = NULL;
	waiter->next = NULL;
}

/* Which thread to wake: read before the waiter can leave, used after it. */
typedef struct wp_wake {
	wp_vthread *thread;
	void (*push)(wp_vthread *thread);
	wp_atomic(uint32_t) *state; /* only an address: it may be freed */
	/* counts the caller until the end of the wake; or NULL */
	wp_wakers *wakers;
	uint32_t number;
} wp_wake;

/* Reads which thread to wake. [the thread that took it off, or any under the lock | wait-free] */
WP_INLINE void wp__wake_prepare(wp_wake *wake, wp_waiter *waiter)
{
	wake->thread = waiter->thread;
	wake->push = waiter->push;
	wake->state = &waiter->state;
	wake->number = waiter->number;
	wake->wakers = waiter->thread == NULL ? NULL : wp__wakers_enter(waiter->thread->wakers);
}

/* Ends that park. [any thread, after the lock | a system call, or a push] */
WP_INLINE void wp__wake(const wp_wake *wake)
{
	enum wp_owed owed;

	if (wake->thread == NULL) {
		wp_futex_wake(wake->state, 1);
		return;
	}
	owed = wp__vthread_notify_park(wake->thread, wake->number);
	if (owed == WP_OWES_PUSH)
		wake->push(wake->thread);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&wake->thread->task.word, 1);
	wp__wakers_exit(wake->wakers);
}

/* Grants. The waiter, and its object too, may be gone when this returns.
 * [the thread that took it off, after the lock | as wp__wake] */
WP_INLINE void wp__waiter_grant(wp_waiter *waiter)
{
	wp_wake wake;

	wp__wake_prepare(&wake, waiter);
	/* [wait_queue.2] release; pairs wait_queue.1, wait_queue.3; upholds WaitQueue!NothingLost:
	 * the waiter sees what it is given, and what the granter did before; it may free itself
	 * now. */
	wp_store_release(&waiter->state, WP_WAITER_GRANTED);
	wp__wake(&wake);
}

/* Grants all waiters of a chain, linked by next.
 * [the thread that took them off, after the lock | as wp__wake] */
WP_INLINE void wp__waiter_grant_all(wp_waiter *chain)
{
	while (chain != NULL) {
		wp_waiter *next = chain->next;

		wp__waiter_grant(chain);
		chain = next;
	}
}

/* True if the waiter is granted. [the waiter's thread | wait-free] */
WP_INLINE bool wp__waiter_is_granted(wp_waiter *waiter)
{
	/* [wait_queue.1] acquire; pairs wait_queue.2; upholds WaitQueue!NothingLost: the waiter
	 * sees what it was given. */
	return wp_load_acquire(&waiter->state) == WP_WAITER_GRANTED;
}

/* Waits for the grant after the waiter was taken off.
 * [the waiter's thread | waits for the granter] */
WP_INLINE void wp__waiter_await(wp_waiter *waiter)
{
	unsigned turns = 0;

	/* [wait_queue.3] acquire; pairs wait_queue.2; upholds WaitQueue!UntouchedAfterGrant: the
	 * granter has done with the waiter, and what it gave is seen. */
	while (wp_load_acquire(&waiter->state) != WP_WAITER_GRANTED)
		wp_wait_a_turn(&turns);
}

/* Call after a park. True if it is granted. False if it is still in line, now with another number:
 * then park again. To get out instead, do not call this, because a grant between the two calls
 * would leave the thread a permit. [the waiter's thread | blocks shortly] */
bool wp__waiter_check(wp_lock *lock, wp_waiter *waiter);

/* Gets out of the line. True if it was given nothing; false if it was granted after all.
 * [the waiter's thread | blocks shortly] */
bool wp__waiter_cancel(wp_lock *lock, wp_waiter *waiter);

/* For a waiter in line: parks until it is granted (WP_OK), or has got out.
 * [the waiter's thread | blocks] */
int wp__waiter_wait(wp_lock *lock, wp_waiter *waiter, int64_t deadline_ns);

#endif
