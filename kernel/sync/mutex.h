/* SPDX-License-Identifier: Apache-2.0
 * mutex.h - a mutex for virtual and OS threads, with barging and bounded bypass.
 *
 *   lock                                      unlock
 *   [mutex.1] word 0 to LOCKED: done          [mutex.4] word LOCKED to 0: done
 *   [mutex.2] free, but threads wait: LOCKED  threads wait, and
 *             and passes + 1: done              [mutex.5] the first is awake: free it, done
 *   under the queue's lock:                   under the queue's lock:
 *     [mutex.3] held: QUEUED; join the queue    no bypass left: hand it to the first waiter
 *   park; then look, under the queue's lock:    else [mutex.6] free it, set WOKEN, wake the first
 *     [mutex.7] first, and free: take it
 *     [mutex.8] first, and held: clear WOKEN
 *     park again; or leave, and pass WOKEN on
 *
 *   word     meaning                                     changed by
 *   LOCKED   A thread holds the mutex.                   the holder: at its lock and its unlock
 *   QUEUED   At least one thread waits in the queue.     any thread, under the queue's lock
 *   WOKEN    The first waiter was woken and will look.   any thread, under the queue's lock
 *   passes   Times the mutex was taken by a newcomer     mutex.2: + 1; reset when a waiter takes
 *            since a waiter last took it.                it, or the queue becomes empty
 *
 * Usage         if (wp_mutex_lock(&mutex) == WP_ABANDONED)
 *                       repair();              the last holder ended while it held the mutex
 *               change_what_it_guards();
 *               wp_mutex_unlock(&mutex);
 *
 * Why it works  While the queue is not empty, either the mutex is held, or the first waiter is
 *               awake and will look. A free mutex goes to the thread that comes first, because the
 *               first waiter may need long to wake. But each bypass is counted in the step that
 *               makes it, and once the count is used up the unlocker hands the mutex over. So the
 *               queue is served in order, and at most WP_MUTEX_BYPASSES later threads take the
 *               mutex before its first waiter gets it.
 * Prior art     parking_lot and WebKit's WTF::Lock, where newcomers barge too, and Go's sync.Mutex,
 *               which hands over after a wait of 1 ms. A count, as here, can be checked.
 * Abandoned     A virtual thread lists the mutexes that it holds. If it ends while it holds some,
 *               or the close of its group hands it back, those are marked abandoned and unlocked.
 *               The next lock that can return a code says WP_ABANDONED, once: its caller holds the
 *               mutex, and must check whether the guarded state is whole. An OS thread that ends
 *               while it holds a mutex is not noticed.
 * Not promised  Recursive locking. Detection of an unlock by a thread that is not the holder: only
 *               the unlock of a free mutex is detected, and a foreign unlock that races with the
 *               holder's own locks may corrupt the holder's list. The memory of a mutex must stay
 *               while a virtual thread holds it.
 * Spec          specs/sync/Mutex.tla: MutualExclusion, NoLostSignal, BoundedBypass, InOrder,
 *               Served.
 * Evidence      make check-specs T=Mutex, make stress T=mutex, wakeproof conform -t mutex. */
#ifndef WP_MUTEX_H
#define WP_MUTEX_H

#include "thread/wait_queue.h"

/* Bits of the word. The bits above them count the bypasses. */
enum { WP_MUTEX_LOCKED = 1, WP_MUTEX_QUEUED = 2, WP_MUTEX_WOKEN = 4, WP_MUTEX_PASS = 8 };

/* The most bypasses. A wake takes as long as some hundred short critical sections. With a lower
 * limit, hand-overs would cost more context switches; with a higher one, the first waiter would
 * wait longer than it must. */
#ifndef WP_MUTEX_BYPASSES
#define WP_MUTEX_BYPASSES 256
#endif

/* 48 bytes; zeroed, it is free. word: mutex.1 to mutex.19. lock: guards the queue, `line`. The
 * holder owns the other fields. */
typedef struct wp_mutex {
	wp_atomic(uint32_t) word;
	wp_lock lock;
	wp_wait_queue line;
	wp_vthread *holder;         /* NULL: the mutex is free, or an OS thread holds it */
	struct wp_mutex *next_held; /* next in the holder's list */
	bool is_abandoned;          /* and no thread has been told so yet */
} wp_mutex;

/* The mutex starts free. [before it is shared | wait-free] */
WP_API void wp_mutex_init(wp_mutex *mutex);

/* Takes a mutex that is free although threads wait: a bypass. True: taken. [any thread | lock-free]
 */
bool wp__mutex_pass(wp_mutex *mutex);
int wp__mutex_unlock_queued(wp_mutex *mutex);

/* Records that `thread` holds the mutex, or an OS thread if it is NULL. [on behalf of the holder |
 * wait-free] */
WP_INLINE void wp__mutex_taken(wp_mutex *mutex, wp_vthread *thread)
{
	if (thread == NULL)
		return;
	mutex->holder = thread;
	mutex->next_held = thread->held;
	thread->held = mutex;
}

/* Removes the mutex from the list of its holder, which is about to unlock it. [the holder | walks
 * its list of held mutexes] */
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

/* Takes the mutex without recording a holder. True: taken. [any thread | as wp_mutex_try_lock] */
WP_INLINE bool wp__mutex_try(wp_mutex *mutex)
{
	uint32_t free = 0;

	/* [mutex.1] acquire; pairs mutex.4, mutex.5, mutex.6; upholds Mutex!MutualExclusion: the
	 * new holder sees what the last one wrote. */
	return wp_cas_acquire(&mutex->word, &free, WP_MUTEX_LOCKED) || wp__mutex_pass(mutex);
}

/* cdef: begin */
/* True: taken. If the mutex may be abandoned, call wp_mutex_was_abandoned next. [any thread |
 * lock-free: retries when the word has changed] */
WP_API_INLINE bool wp_mutex_try_lock(wp_mutex *mutex)
{
	if (!wp__mutex_try(mutex))
		return false;
	wp__mutex_taken(mutex, wp_vthread_current());
	return true;
}

/* True: an earlier holder ended while it held the mutex, and no thread has been told so before.
 * [the holder | wait-free] */
WP_API_INLINE bool wp_mutex_was_abandoned(wp_mutex *mutex)
{
	bool was_abandoned = mutex->is_abandoned;

	if (was_abandoned)
		mutex->is_abandoned = false;
	return was_abandoned;
}

/* Returns WP_OK, or WP_FORBIDDEN if no thread holds the mutex. The call does not touch the mutex
 * once it is free. [the holder | blocks shortly if threads wait] */
WP_API_INLINE int wp_mutex_unlock(wp_mutex *mutex)
{
	uint32_t word = WP_MUTEX_LOCKED;

	wp__mutex_untaken(mutex);
	/* [mutex.4] release; pairs mutex.1, mutex.2, mutex.3, mutex.7, mutex.10; upholds
	 * Mutex!MutualExclusion: hands over what the holder wrote. */
	if (wp_cas_release(&mutex->word, &word, 0))
		return WP_OK;
	return wp__mutex_unlock_queued(mutex);
}

/* True: taken. False: the waiter is queued, and its thread must park. [any thread | blocks shortly]
 */
bool wp__mutex_begin(wp_mutex *mutex, wp_waiter *waiter);

/* The same on behalf of a waiter that has parked or is about to. True: taken; the caller must grant
 * the waiter. [any thread | blocks shortly] */
bool wp__mutex_begin_for(wp_mutex *mutex, wp_waiter *waiter);

/* Call it after a park. True: the waiter holds the mutex; false: park again. [the waiter's thread |
 * blocks shortly] */
bool wp__mutex_check(wp_mutex *mutex, wp_waiter *waiter);

/* Leaves the queue. True: it has left; false: it was granted the mutex after all. [the waiter's
 * thread | blocks shortly] */
bool wp__mutex_cancel(wp_mutex *mutex, wp_waiter *waiter);
/* cdef: end */

/* Records that the waiter holds the mutex and waits no more. [on behalf of the waiter | wait-free]
 */
void wp__mutex_has(wp_mutex *mutex, wp_waiter *waiter);

/* The complete operation: WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [any thread | blocks] */
int wp__mutex_lock(wp_mutex *mutex, wp_waiter *waiter, int64_t deadline_ns);
/* cdef: begin */
/* Locks the mutex. Returns WP_OK; WP_ABANDONED: the caller holds the mutex, but an earlier holder
 * ended while holding it; WP_TIMEOUT or WP_INTERRUPTED: not locked. [any thread | blocks] */
WP_API int wp_mutex_lock_until(wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

/* Locks the mutex; neither a deadline nor an interrupt ends the wait. Returns WP_OK or
 * WP_ABANDONED. [any thread | blocks] */
WP_API int wp_mutex_lock(wp_mutex *mutex);

#endif
