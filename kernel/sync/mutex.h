/* SPDX-License-Identifier: Apache-2.0
 * mutex.h - a mutex for virtual threads and OS threads. A thread that finds the mutex free may take
 * it although other threads have waited longer (barging). This happens at most WP_MUTEX_BYPASSES
 * times before one of the waiting threads gets the mutex (bounded bypass).
 *
 * A carrier is an OS thread that runs many virtual threads, one at a time. A virtual thread that
 * must wait parks: it leaves its carrier, and the carrier then runs another virtual thread. When an
 * OS thread parks, it blocks in a futex wait.
 *
 * A mutex is free or held. A thread that finds it held joins the queue of the mutex and parks; it
 * is then a waiter. In the queue it is represented by a wp_waiter (wait_queue.h). A newcomer is a
 * thread that wants the mutex and is not in the queue. If a newcomer takes the mutex while there
 * are waiters, this is a bypass. The queue has a lock of its own, which is called the queue's lock
 * here and is held only for an instant. The field `word` consists of three bits and a count:
 *
 *   word     meaning                                     changed by
 *   LOCKED   A thread holds the mutex.                   the thread that locks or unlocks the mutex
 *   QUEUED   There is at least one waiter.               any thread, under the queue's lock
 *   WOKEN    The first waiter was woken, and has not     any thread, under the queue's lock
 *            yet tried to take the mutex.
 *   passes   The number of bypasses since a waiter       mutex.2 adds 1, and mutex.8 adds
 *            last took the mutex, and WP_MUTEX_MISS      WP_MUTEX_MISS; set to 0 when a waiter
 *            for each time that the first waiter was     takes the mutex or the queue becomes empty
 *            woken in vain. Its limit is
 *            WP_MUTEX_BYPASSES.
 *
 *   lock                                       unlock
 *   [mutex.1] if word is 0: set LOCKED; done   [mutex.4] if word is LOCKED: set it to 0; done
 *   [mutex.2] if the mutex is free: set        if there are waiters, and passes < its limit:
 *             LOCKED, and add 1 to passes if     [mutex.5] if WOKEN is set: clear LOCKED; done
 *             there are waiters; done            [mutex.6] else, under the queue's lock: clear
 *   if the mutex is held:                                  LOCKED, set WOKEN, wake the first
 *     [mutex.3] under the queue's lock: set                waiter; done
 *               QUEUED, join the queue         if there are waiters, and passes = its limit:
 *     park; then, under the queue's lock:        [mutex.13] under the queue's lock: keep LOCKED,
 *     [mutex.7] if this waiter is first, and                remove the first waiter, which now
 *               the mutex is free: set                      holds the mutex, and wake it; done
 *               LOCKED, leave the queue; done
 *     [mutex.8] if this waiter is first, and
 *               the mutex is held: clear WOKEN,
 *               and add WP_MUTEX_MISS to passes
 *     park again
 *
 * In wp_mutex_lock_until a waiter gives up after its deadline or when it is interrupted: a virtual
 * thread by wp_vthread_interrupt, an OS thread by a signal handler. It then leaves the queue. If it
 * was the first waiter and WOKEN is set, it wakes the next waiter, because the unlock woke only the
 * first one. The last waiter may leave just before an unlock takes the queue's lock. The unlock
 * then finds the queue empty. It releases the queue's lock, and unlocks the mutex by mutex.5.
 *
 * Usage         if (wp_mutex_lock(&mutex) == WP_ABANDONED)
 *                       repair();              an earlier holder ended while it held the mutex
 *               change_what_it_guards();
 *               wp_mutex_unlock(&mutex);
 *
 * Why it works  If the mutex is free and there are waiters, then the first waiter is awake or is
 *               about to be woken, and it will try to take the mutex. So no wakeup is lost: it
 *               never happens that the mutex is free, all waiters sleep, and no wakeup is on its
 *               way.
 *               Barging is allowed because some time passes before a woken waiter runs, and a
 *               newcomer can use the mutex during this time. Each bypass is counted in the same
 *               atomic step in which the newcomer takes the mutex. After WP_MUTEX_BYPASSES
 *               bypasses, the next unlock does not make the mutex free, but gives it to the first
 *               waiter. So at most WP_MUTEX_BYPASSES newcomers take the mutex before the first
 *               waiter gets it. Where the mutex is held for long, few newcomers come between two
 *               looks of the first waiter. So a look in vain, of a waiter that was woken and finds
 *               the mutex held again, counts as a 16th of these bypasses, and no waiter is woken
 *               in vain more than 16 times. Waiters get the mutex in the order of the queue, because
 *               only the first one takes it (mutex.7) or is given it (mutex.13).
 * Prior art     In parking_lot and in WebKit's WTF::Lock newcomers barge too. Go's sync.Mutex gives
 *               the mutex to a waiter that has waited for 1 ms. A limit that counts bypasses, as
 *               here, can be checked by a model checker; a limit in milliseconds cannot.
 * Abandoned     A virtual thread has a list of the mutexes that it holds. If the thread ends while
 *               it holds some, each of them is marked as abandoned and unlocked. The same happens
 *               when the group of the thread (the carriers that may run it) is closed before the
 *               thread has ended. The next wp_mutex_lock or wp_mutex_lock_until that takes an
 *               abandoned mutex returns WP_ABANDONED; after wp_mutex_try_lock,
 *               wp_mutex_was_abandoned returns true. Only the first of these calls reports it. The
 *               caller then holds the mutex, and must check whether the data that the mutex guards
 *               are consistent. The end of an OS thread that holds a mutex is not detected.
 * Not promised  The mutex is not recursive. An unlock by a thread that does not hold the mutex is
 *               an error that is detected only if the mutex is free. If a thread unlocks a mutex
 *               that a virtual thread holds, while that virtual thread locks or unlocks any mutex,
 *               the list of the virtual thread may be corrupted.
 * Spec          specs/sync/Mutex.tla has six claims. MutualExclusion: one thread at most holds the
 *               mutex. NoLostSignal: while the mutex is free, the first waiter tries to take it, or
 *               is about to. BoundedBypass: while a thread is the first waiter, WP_MUTEX_BYPASSES
 *               others at most take the mutex. InOrder: waiters get the mutex in the order of the
 *               queue. MissesCounted: a look in vain brings the hand-over nearer. Served: each
 *               waiter that does not give up gets the mutex eventually. Served assumes that each
 *               thread gets the queue's lock eventually, which wp_short_lock does not promise
 *               (short_lock.h).
 * Evidence      make check-specs T=Mutex checks the spec, make stress T=mutex runs this code on
 *               real cores, and wakeproof conform -t mutex compares the two.
 * Comments      guard.h explains the tags in brackets, and the comments of atomic operations. */
#ifndef WP_MUTEX_H
#define WP_MUTEX_H

#include "base/short_lock.h"
#include "thread/wait_queue.h"

/* The bits of `word`. The bits from WP_MUTEX_PASS on are the count `passes`. */
enum { WP_MUTEX_LOCKED = 1, WP_MUTEX_QUEUED = 2, WP_MUTEX_WOKEN = 4, WP_MUTEX_PASS = 8 };

/* The limit of `passes`. Until a waiter runs whose carrier slept, 10 to 30 us pass, in which other
 * threads can execute a few thousand short critical sections. With a lower limit, the mutex would be
 * given to a waiter that does not run yet; the threads that are running would then join the queue
 * one by one, and their carrier would sleep. With a higher limit, the first waiter would wait longer
 * than it must. */
#ifndef WP_MUTEX_BYPASSES
#define WP_MUTEX_BYPASSES 4096
#endif

/* What `passes` counts when the first waiter was woken in vain: after 16 times the mutex is given to
 * it. */
#define WP_MUTEX_MISS ((WP_MUTEX_BYPASSES + 15) / 16)

/* 48 bytes. A mutex whose bytes are all 0 is free. `word` is accessed at mutex.1 to mutex.10 and at
 * mutex.13 to mutex.19. `line` is the queue, and `lock` is the queue's lock. Only the holder
 * accesses the other fields. If the holder is a virtual thread that has ended or whose group is
 * closed, the thread that unlocks the mutex in its place accesses them. Unlock a mutex before you
 * deallocate it, because it may be in the list of a virtual thread that holds it. */
typedef struct wp_mutex {
	wp_atomic(uint32_t) word;
	wp_short_lock lock;
	wp_wait_queue line;
	wp_vthread *holder;         /* NULL: the mutex is free, or an OS thread holds it */
	struct wp_mutex *next_held; /* the next mutex in the holder's list */
	bool is_abandoned;          /* an earlier holder ended while it held the mutex, and no
				     * call has reported that yet */
} wp_mutex;

/* Makes a free mutex. [one thread, before the mutex is shared | wait-free] */
WP_API void wp_mutex_init(wp_mutex *mutex);

/* Takes the mutex if it is free. If there are waiters, this is a bypass, and it is counted. Returns
 * true if the caller now holds the mutex. [any thread | lock-free] */
bool wp__mutex_pass(wp_mutex *mutex);

/* wp_mutex_unlock calls this if the mutex has waiters or is free. Returns what wp_mutex_unlock
 * returns. [the holder | blocks briefly] */
int wp__mutex_unlock_queued(wp_mutex *mutex);

/* Records that the virtual thread `thread` holds the mutex. NULL stands for an OS thread, which is
 * not recorded. [the new holder, or the close of its group | wait-free] */
WP_INLINE void wp__mutex_taken(wp_mutex *mutex, wp_vthread *thread)
{
	if (thread == NULL)
		return;
	mutex->holder = thread;
	mutex->next_held = thread->held;
	thread->held = mutex;
}

/* Removes the mutex from its holder's list, right before it is unlocked. [the caller of
 * wp_mutex_unlock | walks the list of the mutexes that the holder has] */
WP_INLINE void wp__mutex_untaken(wp_mutex *mutex)
{
	wp_mutex **at;

	if (mutex->holder == NULL)
		return;
	for (at = &mutex->holder->held; *at != NULL; at = &(*at)->next_held)
		if (*at == mutex) {
			*at = mutex->next_held;
			break;
		}
	mutex->holder = NULL;
}

/* Like wp_mutex_try_lock, but does not record the holder. [any thread | lock-free] */
WP_INLINE bool wp__mutex_try(wp_mutex *mutex)
{
	uint32_t free = 0;

	/* [mutex.1] acquire; pairs mutex.4, mutex.5, mutex.6; upholds Mutex!MutualExclusion: the
	 * new holder sees what the last one wrote. */
	return wp_cas_acquire(&mutex->word, &free, WP_MUTEX_LOCKED) || wp__mutex_pass(mutex);
}

/* cdef: begin */
/* Takes the mutex if it is free. Returns true if the caller now holds the mutex. The caller should
 * then call wp_mutex_was_abandoned. It may omit that call if every holder of this mutex is certain
 * to unlock it. [any thread | lock-free: it retries if `word` changes] */
WP_API_INLINE bool wp_mutex_try_lock(wp_mutex *mutex)
{
	/* Before the locked instruction, because a read after it would wait for it. */
	wp_vthread *self = wp_vthread_current();

	if (!wp__mutex_try(mutex))
		return false;
	wp__mutex_taken(mutex, self);
	return true;
}

/* Returns true if an earlier holder ended while it held the mutex, and no call has reported that
 * yet. The next call returns false. [the holder | wait-free] */
WP_API_INLINE bool wp_mutex_was_abandoned(wp_mutex *mutex)
{
	bool was_abandoned = mutex->is_abandoned;

	if (was_abandoned)
		mutex->is_abandoned = false;
	return was_abandoned;
}

/* Unlocks the mutex. Returns WP_OK, or WP_FORBIDDEN if no thread holds the mutex. Before this call
 * returns, another thread may lock, unlock and then deallocate the mutex, provided that no third
 * thread uses it. This call touches the mutex for the last time when it clears LOCKED, or, if it
 * wakes a waiter, when it releases the queue's lock. Until that release the waiter cannot end its
 * wait. [the holder | blocks briefly if there are waiters] */
WP_API_INLINE int wp_mutex_unlock(wp_mutex *mutex)
{
	uint32_t word = WP_MUTEX_LOCKED;

	wp__mutex_untaken(mutex);
	/* [mutex.4] release; pairs mutex.1, mutex.2, mutex.3, mutex.7, mutex.10; upholds
	 * Mutex!MutualExclusion: the next holder sees what this holder wrote. */
	if (wp_cas_release(&mutex->word, &word, 0))
		return WP_OK;
	return wp__mutex_unlock_queued(mutex);
}

/* The next four functions lock the mutex in steps. They are for threads that must not park inside a
 * C function; a Python coroutine is one. The thread begins; if it must wait, it parks and checks in
 * a loop. `waiter` represents the thread in the queue. */

/* Begins. Returns true if the caller now holds the mutex. Returns false if the waiter has joined
 * the queue; its thread must then park. [the waiter's thread | blocks briefly] */
bool wp__mutex_begin(wp_mutex *mutex, wp_waiter *waiter);

/* Begins for another thread, which has parked or is about to park, and whose waiter is `waiter`.
 * Returns true if the mutex was taken for that waiter; the caller must then call wp__waiter_grant,
 * which wakes the thread. Returns false if the waiter has joined the queue. [any thread | blocks
 * briefly] */
bool wp__mutex_begin_for(wp_mutex *mutex, wp_waiter *waiter);

/* Checks after a park. Returns true if the waiter's thread now holds the mutex. Returns false if
 * the thread must park again. [the waiter's thread | blocks briefly] */
bool wp__mutex_check(wp_mutex *mutex, wp_waiter *waiter);

/* Gives up, in place of a check. Returns true if the waiter has left the queue without the mutex.
 * Returns false if the waiter was given the mutex before it could leave, so that its thread now
 * holds the mutex. [the waiter's thread, or the close of its group | blocks briefly] */
bool wp__mutex_cancel(wp_mutex *mutex, wp_waiter *waiter);
/* cdef: end */

/* Records that the waiter's thread holds the mutex and that its wait is over. [the waiter's thread,
 * or the close of its group | wait-free] */
void wp__mutex_has(wp_mutex *mutex, wp_waiter *waiter);

/* All the steps: begins, and parks and checks in a loop. Returns WP_OK if the waiter's thread holds
 * the mutex, WP_TIMEOUT after the deadline, or WP_INTERRUPTED. [the waiter's thread | blocks] */
int wp__mutex_lock(wp_mutex *mutex, wp_waiter *waiter, int64_t deadline_ns);
/* cdef: begin */
/* Locks the mutex, or gives up when deadline_ns (a time of wp_clock_ns) has passed or the caller is
 * interrupted. Returns WP_OK or WP_ABANDONED if the caller holds the mutex; WP_ABANDONED says that
 * an earlier holder ended while it held the mutex. Returns WP_TIMEOUT or WP_INTERRUPTED if the
 * caller does not hold the mutex. [any thread | blocks] */
WP_API int wp_mutex_lock_until(wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

/* Returns what a successful lock returns: WP_ABANDONED if an earlier holder ended while it held the
 * mutex and no call has reported that yet, and else WP_OK. [the holder | wait-free] */
WP_INLINE int wp__mutex_said(wp_mutex *mutex)
{
	return wp_mutex_was_abandoned(mutex) ? WP_ABANDONED : WP_OK;
}

/* wp_mutex_lock calls this if the mutex was not free. Returns what wp_mutex_lock returns. [any
 * thread | blocks] */
int wp__mutex_lock_waiting(wp_mutex *mutex);

/* Locks the mutex. Neither a deadline nor an interrupt ends the wait. Returns WP_OK or
 * WP_ABANDONED, as wp_mutex_lock_until does. [any thread | blocks] */
WP_API_INLINE int wp_mutex_lock(wp_mutex *mutex)
{
	return wp_mutex_try_lock(mutex) ? wp__mutex_said(mutex) : wp__mutex_lock_waiting(mutex);
}

#endif
