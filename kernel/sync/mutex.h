/* SPDX-License-Identifier: Apache-2.0
 * mutex.h - mutual exclusion for virtual and OS threads; who waits is overtaken so often, no more.
 *
 *   lock                                      unlock
 *   [mutex.1] 0 to LOCKED: done               [mutex.4] LOCKED to 0: done
 *   [mutex.2] free, others wait: LOCKED, one  others wait, and
 *             pass more: done                   [mutex.5] the first is coming: free it, done
 *   under the list's lock:                    under the list's lock:
 *     [mutex.3] held: QUEUED; get in line       no more passes: hand it to the first
 *   park, look, under the list's lock:          else [mutex.6] free it, WOKEN: tell the first to look
 *     [mutex.7] first, and free: take it
 *     [mutex.8] first, and held: not WOKEN
 *     park again; or get out: tell the next
 *
 *   word     means                                      set and cleared by
 *   LOCKED   somebody has it                            whoever takes and frees it
 *   QUEUED   the line is not empty                      under the list's lock
 *   WOKEN    the first was told to look, and will       under the list's lock
 *   passes   taken past the line since its first        mutex.2; a waiter takes it: 0
 *            came to be first, or before
 *
 * Why it works  While the line is not empty, it is held, or its first is awake and looks. A free
 *               mutex goes to whoever comes first, as the first of the line may need long to come;
 *               but each pass is counted in the step that makes it, and the last one hands over.
 *               So the line is served in order, and its first is passed WP_MUTEX_BYPASSES times at
 *               the most.
 * Abandoned     A virtual thread lists the mutexes that it has. If it ends, or the close of its group
 *               hands it back, while it has some, these are marked and unlocked; the next lock of
 *               one that has a code to give says WP_ABANDONED: the caller has it, and looks whether
 *               what it guards is whole. It is said once. An OS thread that ends with a mutex is
 *               not noticed.
 * Not promised  That it may be locked twice by one thread. That an unlock by a stranger is noticed:
 *               only that of a free mutex is; one that races with the holder's own locks may spoil
 *               its list. A mutex's memory must stay while a virtual thread has it.
 * Spec          specs/sync/Mutex.tla: MutualExclusion, NoLostSignal, BoundedBypass, InOrder,
 *               Served.
 * Evidence      make check-specs T=Mutex, make stress T=mutex, wakeproof conform -t mutex. */
#ifndef WP_MUTEX_H
#define WP_MUTEX_H

#include "thread/wait_queue.h"

/* Values of the word. The passes are in what is left. */
enum { WP_MUTEX_LOCKED = 1, WP_MUTEX_QUEUED = 2, WP_MUTEX_WOKEN = 4, WP_MUTEX_PASS = 8 };

/* Times. A wake takes as long as some hundred short holds: fewer passes would cost a switch each,
 * more would make its first wait longer than it must. */
#ifndef WP_MUTEX_BYPASSES
#define WP_MUTEX_BYPASSES 256
#endif

/* 48 bytes. Zeroed is free. word: mutex.1..YM19. lock: of the list. line: under it. The rest: who
 * has it. */
typedef struct wp_mutex {
	wp_atomic(uint32_t) word;
	wp_lock lock;
	wp_wait_queue line;
	wp_vthread *holder;         /* NULL: nobody, or an OS thread */
	struct wp_mutex *next_held; /* of its holder */
	bool is_abandoned;          /* and nobody was told so */
} wp_mutex;

/* Free. [before it is shared | wait-free] */
WP_API void wp_mutex_init(wp_mutex *mutex);

/* It is free, but others wait: may be taken past them. True: taken. */
bool wp__mutex_pass(wp_mutex *mutex);
int wp__mutex_unlock_queued(wp_mutex *mutex);

/* That thread has it, or, if it is NULL, an OS thread. [in the holder's name | wait-free] */
WP_INLINE void wp__mutex_taken(wp_mutex *mutex, wp_vthread *thread)
{
	if (thread == NULL)
		return;
	mutex->holder = thread;
	mutex->next_held = thread->held;
	thread->held = mutex;
}

/* Its holder is about to unlock it. [the holder | reads the list of what it has] */
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

/* Nobody is its holder yet. True: taken. [any thread | as wp_mutex_try_lock] */
WP_INLINE bool wp__mutex_try(wp_mutex *mutex)
{
	uint32_t free = 0;

	/* [mutex.1] acquire; pairs mutex.4, mutex.5, mutex.6; upholds Mutex!MutualExclusion: what
	 * the last holder wrote is seen. */
	return wp_cas_acquire(&mutex->word, &free, WP_MUTEX_LOCKED) || wp__mutex_pass(mutex);
}

/* cdef: begin */
/* True: taken; if it may be abandoned, ask wp_mutex_was_abandoned. [any thread | lock-free: retries
 * when the word has changed] */
WP_API_INLINE bool wp_mutex_try_lock(wp_mutex *mutex)
{
	if (!wp__mutex_try(mutex))
		return false;
	wp__mutex_taken(mutex, wp_vthread_current());
	return true;
}

/* A holder before the caller ended while it had it, and nobody was told so before. [its holder |
 * wait-free] */
WP_API_INLINE bool wp_mutex_was_abandoned(wp_mutex *mutex)
{
	bool was_abandoned = mutex->is_abandoned;

	if (was_abandoned)
		mutex->is_abandoned = false;
	return was_abandoned;
}

/* WP_OK, or WP_FORBIDDEN: nobody has it. Once it is free this touches it no more. [its holder |
 * blocks shortly if others wait] */
WP_API_INLINE int wp_mutex_unlock(wp_mutex *mutex)
{
	uint32_t word = WP_MUTEX_LOCKED;

	wp__mutex_untaken(mutex);
	/* [mutex.4] release; pairs mutex.1, mutex.2, mutex.3, mutex.7, mutex.10; upholds
	 * Mutex!MutualExclusion: hands over what was written. */
	if (wp_cas_release(&mutex->word, &word, 0))
		return WP_OK;
	return wp__mutex_unlock_queued(mutex);
}

/* True: taken; false: in line, park. [any thread | blocks shortly] */
bool wp__mutex_begin(wp_mutex *mutex, wp_waiter *waiter);

/* The same in the name of a waiter that is parked, or about to be. True: grant it. [any thread |
 * blocks shortly] */
bool wp__mutex_begin_for(wp_mutex *mutex, wp_waiter *waiter);

/* After a park. True: taken; false: park again. [the waiter's thread | blocks shortly] */
bool wp__mutex_check(wp_mutex *mutex, wp_waiter *waiter);

/* Gets out of the line. True: out; false: it has it after all. [the waiter's thread | blocks
 * shortly] */
bool wp__mutex_cancel(wp_mutex *mutex, wp_waiter *waiter);
/* cdef: end */

/* Its waiter has it, and waits no more. [in the waiter's name | wait-free] */
void wp__mutex_has(wp_mutex *mutex, wp_waiter *waiter);

/* The three as one: WP_OK, WP_TIMEOUT, WP_INTERRUPTED. [any thread | blocks] */
int wp__mutex_lock(wp_mutex *mutex, wp_waiter *waiter, int64_t deadline_ns);
/* cdef: begin */
/* Takes it: WP_OK, WP_TIMEOUT, WP_INTERRUPTED; or WP_ABANDONED: the caller has it, but an earlier
 * holder ended while it had it. [any thread | blocks] */
WP_API int wp_mutex_lock_until(wp_mutex *mutex, int64_t deadline_ns);
/* cdef: end */

/* Whatever happens: WP_OK, or WP_ABANDONED. [any thread | blocks] */
WP_API int wp_mutex_lock(wp_mutex *mutex);

#endif
