/* SPDX-License-Identifier: Apache-2.0
 * wait_queue.h - the queue of the threads that wait for an object such as a mutex. Virtual threads
 * and OS threads wait in one FIFO, and the thread that serves the queue hands the object directly
 * to a waiter.
 *
 * A waiter (wp_waiter) is the record of one wait of one thread. It stands in the object's queue,
 * which is called its line. The object's own lock protects the line; in this file "the lock" is
 * that lock. A granter takes a waiter off the line and grants it what it waits for: the mutex,
 * permits, a message.
 *
 * A new kind of wait calls, in this order:
 *   wp__waiter_stands  before the waiter gets in line. This passes the function `leave`. If the
 *                      group of a thread is closed while the thread stands in line, the close calls
 *                      `leave` in place of the thread. `leave` takes the waiter out of the line
 *                      under the object's lock, as a thread does that gives up, and does what
 *                      follows from that (wakes or serves the next waiter). If the waiter was
 *                      granted already, `leave` gives the grant to the next waiter in line, or back
 *                      to the object.
 *   wp__waiter_over    when the wait has ended, with or without a grant. wp__waiter_check and
 *                      wp__waiter_cancel have called it when they return that the wait has ended.
 * A thread that wakes a waiter without taking it off the line prepares the wake under the lock
 * (mutex.c).
 *
 *   waiter                                granter
 *   under the object's lock: get in line  under the object's lock: take one off the line,
 *     with the number of its park           and give it what it waits for
 *   park, at least once                   after the release of the lock:
 *   [wait_queue.1] granted: done            [wait_queue.2] state := GRANTED
 *   spurious wakeup, under the lock:        wake: a futex, or that park of a virtual thread
 *     in line: the next number, park again
 *   timeout, or refused, under the lock:
 *     in line: get out
 *   taken off: [wait_queue.3] wait for GRANTED
 *
 *   state     meaning                                              written by
 *   WAITS     The waiter is in line, or was taken off just now.    the waiter
 *   LOOK      It is in line, and must check the object again.      a thread under the lock
 *   GRANTED   It is granted, and no thread touches it any more.    its granter, once
 *
 * Why it works  One lock decides which waiters are in line. So a waiter that gets out of the line
 *               has been given nothing. A waiter that was taken off has been granted, and its
 *               thread reports that, however late it is.
 *               The granter reads which thread to wake before wait_queue.2, and touches neither the
 *               waiter nor the object after it. So a thread that sees GRANTED may deallocate both.
 *               The wake that follows is safe: a futex is only an address by then, the memory of a
 *               virtual thread remains that of a virtual thread, and the group of the thread is
 *               deallocated only after the granter is done, because the granter has counted itself
 *               before wait_queue.2 (wakers.h).
 *               Each park has a number. After a park has ended, the next one has another number, so
 *               a late wake neither ends a later park nor leaves it a permit.
 * Not promised  A park may end without a grant, so the waiter checks again. A permit that a user
 *               gives to a waiting thread does not outlast the wait: the parks of the wait take
 *               permits as any park does. wait_queue.3 may take long, if the granter has lost its
 *               CPU.
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

/* 80 bytes: one wait of one thread, on the thread's stack or in its coroutine's frame. `state` is
 * written by wait_queue.2, mutex.11 and mutex.12; `leave` and `object` by the waiting thread; the
 * other fields under the object's lock, or by the thread that took the waiter off. */
typedef struct wp_waiter {
	struct wp_waiter *next, *prev;
	struct wp_wait_queue *line;       /* the line that it stands in; NULL: it was taken off */
	wp_vthread *thread;               /* NULL: an OS thread, which sleeps at `state` */
	void (*push)(wp_vthread *thread); /* queues the thread, if its unpark requires that */
	void *value;                      /* for the object */
	uint32_t number;                  /* of the park that a wake must end */
	wp_atomic(uint32_t) state;
	uint32_t amount; /* for the object */
	int16_t result;  /* for the object; set with the grant */
	uint16_t why;    /* enum wp_wait, for an event */
	/* Takes the waiter out of the line, or gives back the grant. The close of the thread's
	 * group calls it. */
	void (*leave)(struct wp_waiter *waiter);
	void *object; /* for `leave`: the object with the line */
} wp_waiter;

/* 16 bytes. It changes only under its object's lock. A zeroed queue is empty. */
typedef struct wp_wait_queue {
	wp_waiter *first, *last;
} wp_wait_queue;

/* Parks once. Returns WP_OK (check again), WP_TIMEOUT or WP_INTERRUPTED. Call it before each check,
 * also before the first one. Otherwise a virtual thread would keep the permit of a grant for which
 * it did not park. [the waiter's thread | blocks] */
int wp__waiter_park(wp_waiter *waiter, int64_t deadline_ns);

/* Parks once, for a wait that an interrupt does not end. Returns true if the thread was
 * interrupted. After the wait, pass that to wp__waiter_interrupt_again, which interrupts the thread
 * anew. [the waiter's thread | blocks] */
bool wp__waiter_park_through(wp_waiter *waiter);
void wp__waiter_interrupt_again(wp_waiter *waiter, bool was_interrupted);

/* Makes a waiter for the calling thread. [its thread | wait-free] */
void wp__waiter_init_self(wp_waiter *waiter, enum wp_wait why);

/* Makes a waiter for `thread`, which `push` queues. If `thread` is NULL, the waiter is for an OS
 * thread, and `push` is not used. [its thread | wait-free] */
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

/* Stores the number of the thread's next park. Call it before the waiter gets in line, and before
 * it parks again. [the waiter's thread; if it is in line, under the lock | wait-free] */
WP_INLINE void wp__waiter_renew(wp_waiter *waiter)
{
	if (waiter->thread != NULL)
		waiter->number = wp__vthread_number(waiter->thread);
}

/* Call this before the waiter gets in line. From then on the close of its group finds the waiter.
 * [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_stands(wp_waiter *waiter, void (*leave)(wp_waiter *waiter), void *object)
{
	waiter->leave = leave;
	waiter->object = object;
	if (waiter->thread != NULL)
		waiter->thread->waits = waiter;
	wp__waiter_renew(waiter);
}

/* Call this when the wait has ended. [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_over(wp_waiter *waiter)
{
	if (waiter->thread != NULL)
		waiter->thread->waits = NULL;
}

/* Takes a thread that will not run any more out of the line in which it stands. [the close of its
 * group, when no thread runs it | waits for a granter that has begun] */
WP_INLINE void wp__vthread_leave_line(wp_vthread *thread)
{
	wp_waiter *waiter = thread->waits;

	thread->waits = NULL;
	if (waiter != NULL)
		waiter->leave(waiter);
}

/* Call this if a park was refused, for a deadline in the past or an interrupt. It ends that park
 * all the same, because otherwise a grant would leave its permit for the next park. Like a park, it
 * also takes a permit that a user gave. [the waiter's thread | wait-free] */
WP_INLINE void wp__waiter_refused(wp_waiter *waiter)
{
	if (waiter->thread == NULL || wp__vthread_number(waiter->thread) != waiter->number)
		return; /* the park was not refused */
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

/* What a thread needs to wake a waiter. It is read before the waiter can leave, and used
 * afterwards. */
typedef struct wp_wake {
	wp_vthread *thread;
	void (*push)(wp_vthread *thread);
	wp_atomic(uint32_t) *state; /* only an address: the waiter may be gone */
	/* counts the caller until the wake is over; NULL: the caller need not be counted */
	wp_wakers *wakers;
	uint32_t number;
} wp_wake;

/* Reads which thread to wake. [the thread that took the waiter off, or any thread under the lock |
 * wait-free] */
WP_INLINE void wp__wake_prepare(wp_wake *wake, wp_waiter *waiter)
{
	wake->thread = waiter->thread;
	wake->push = waiter->push;
	wake->state = &waiter->state;
	wake->number = waiter->number;
	wake->wakers = waiter->thread == NULL ? NULL : wp__wakers_enter(waiter->thread->wakers);
}

/* Ends the park that the wake was prepared for. [any thread, after the release of the lock | a
 * system call, or a push] */
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

/* Grants the waiter. The waiter, and its object too, may be gone when this returns. [the thread
 * that took the waiter off, after the release of the lock | as wp__wake] */
WP_INLINE void wp__waiter_grant(wp_waiter *waiter)
{
	wp_wake wake;

	wp__wake_prepare(&wake, waiter);
	/* [wait_queue.2] release; pairs wait_queue.1, wait_queue.3; upholds WaitQueue!NothingLost:
	 * the waiter sees what it is given, and what the granter did before. From here on the
	 * waiter's memory may be gone. */
	wp_store_release(&waiter->state, WP_WAITER_GRANTED);
	wp__wake(&wake);
}

/* Grants all waiters of a chain, linked by `next`. [the thread that took them off, after the
 * release of the lock | as wp__wake] */
WP_INLINE void wp__waiter_grant_all(wp_waiter *chain)
{
	while (chain != NULL) {
		wp_waiter *next = chain->next;

		wp__waiter_grant(chain);
		chain = next;
	}
}

/* Returns true if the waiter is granted. [the waiter's thread | wait-free] */
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
	 * granter no longer uses the waiter, and the waiter sees what it was given. */
	while (wp_load_acquire(&waiter->state) != WP_WAITER_GRANTED)
		wp_wait_a_turn(&turns);
}

/* Checks after a park. Returns true if the waiter is granted. Returns false if it is still in line,
 * now with the number of the next park; then park again. A thread that wants to give up must not
 * call this first, because a grant between the two calls would leave the thread a permit. [the
 * waiter's thread | blocks briefly] */
bool wp__waiter_check(wp_lock *lock, wp_waiter *waiter);

/* Gives up: takes the waiter out of the line. Returns true if the waiter was given nothing, and
 * false if it was granted before. [the waiter's thread | blocks briefly] */
bool wp__waiter_cancel(wp_lock *lock, wp_waiter *waiter);

/* Waits with a waiter that is in line: parks until the waiter is granted (WP_OK), or until it has
 * left the line (WP_TIMEOUT or WP_INTERRUPTED). [the waiter's thread | blocks] */
int wp__waiter_wait(wp_lock *lock, wp_waiter *waiter, int64_t deadline_ns);

#endif
