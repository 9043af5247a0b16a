/* SPDX-License-Identifier: Apache-2.0
 * mutex.c - see mutex.h. */
#include "sync/mutex.h"

void wp_mutex_init(wp_mutex *mutex)
{
	wp_init(&mutex->word, 0);
	wp_init(&mutex->lock.state, 0);
	mutex->line.first = mutex->line.last = NULL;
	mutex->holder = NULL;
	mutex->next_held = NULL;
	mutex->is_abandoned = false;
}

void wp__vthread_abandon_held(wp_vthread *thread)
{
	wp_mutex *mutex;

	while ((mutex = thread->held) != NULL) {
		mutex->is_abandoned = true;
		wp_mutex_unlock(mutex);
	}
}

bool wp__mutex_pass(wp_mutex *mutex)
{
	/* [mutex.9] relaxed: stale costs a failing mutex.2, or a wait in the queue; pairs mutex.2;
	 * upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	while (!(word & WP_MUTEX_LOCKED)) {
		uint32_t pass = word & WP_MUTEX_QUEUED ? WP_MUTEX_PASS : 0;

		/* [mutex.2] acquire; pairs mutex.4, mutex.5, mutex.6, mutex.9, mutex.13; upholds
		 * Mutex!MutualExclusion: as mutex.1. The bypass is counted in the same step, for
		 * Mutex!BoundedBypass. */
		if (wp_cas_acquire(&mutex->word, &word, word + WP_MUTEX_LOCKED + pass))
			return true;
	}
	return false;
}

/* Takes the mutex, or sets QUEUED while another thread holds it. True: taken. [under the lock] */
static bool take_or_mark(wp_mutex *mutex)
{
	for (;;) {
		uint32_t word;

		if (wp__mutex_pass(mutex))
			return true;
		/* [mutex.10] relaxed: stale costs a failing mutex.3; QUEUED is ordered by the lock;
		 * pairs mutex.4; upholds Mutex!NoLostSignal. */
		word = wp_load_relaxed(&mutex->word);
		if (word & WP_MUTEX_QUEUED)
			return false;
		/* [mutex.3] relaxed: atomicity is enough: it hands nothing over; pairs mutex.4,
		 * mutex.15, mutex.16; upholds Mutex!NoLostSignal: the unlocker sees that a thread
		 * waits. */
		if (word & WP_MUTEX_LOCKED &&
		    wp_cas_relaxed(&mutex->word, &word, word | WP_MUTEX_QUEUED))
			return false;
	}
}

bool wp__mutex_begin_for(wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_taken;

	if (wp__mutex_try(mutex))
		return true;
	wp_lock_acquire(&mutex->lock);
	is_taken = take_or_mark(mutex);
	if (!is_taken)
		wp__wait_queue_add(&mutex->line, waiter);
	wp_lock_release(&mutex->lock);
	return is_taken;
}

void wp__mutex_has(wp_mutex *mutex, wp_waiter *waiter)
{
	wp__waiter_over(waiter);
	wp__mutex_taken(mutex, waiter->thread);
}

/* See wait_queue.h. */
static void leave(wp_waiter *waiter)
{
	wp_mutex *mutex = waiter->object;

	if (!wp__mutex_cancel(mutex, waiter))
		wp_mutex_unlock(mutex);
}

bool wp__mutex_begin(wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_taken;

	wp__waiter_stands(waiter, leave, mutex);
	is_taken = wp__mutex_begin_for(mutex, waiter);
	if (is_taken)
		wp__mutex_has(mutex, waiter);
	return is_taken;
}

/* Asks the first waiter to look, and prepares its wake, which the caller performs after the lock.
 * The waiter stays in the queue until then, so its group exists until the lock is released, and has
 * counted the caller by then. [under the lock] */
static void tell(wp_waiter *first, wp_wake *wake)
{
	wp__wake_prepare(wake, first);
	/* [mutex.11] relaxed: ordered by the lock, under which the waiter looks; pairs mutex.12;
	 * upholds Mutex!NoLostSignal. */
	wp_store_relaxed(&first->state, WP_WAITER_LOOK);
}

/* Gives the mutex to the first waiter. [the holder, under the lock, which is released here] */
static void hand_over(wp_mutex *mutex, wp_waiter *first)
{
	wp__wait_queue_remove(first);
	/* [mutex.13] relaxed: ordered by the grant, which hands the mutex over; pairs mutex.2;
	 * upholds Mutex!BoundedBypass: the count of bypasses starts again. */
	wp_store_relaxed(&mutex->word,
			 WP_MUTEX_LOCKED | (mutex->line.first != NULL ? WP_MUTEX_QUEUED : 0));
	wp_lock_release(&mutex->lock);
	wp__waiter_grant(first);
}

/* Unlocks a mutex with waiters. While the word is LOCKED only the holder changes it, except for
 * mutex.3, mutex.8 and mutex.14, which need the lock too. [the holder, under the lock, which is
 * released here] */
static void unlock_locked(wp_mutex *mutex, wp_waiter *first)
{
	wp_wake wake;
	/* [mutex.15] relaxed: ordered by the lock, as explained above; pairs mutex.3; upholds
	 * Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	if (word / WP_MUTEX_PASS >= WP_MUTEX_BYPASSES) {
		hand_over(mutex, first);
		return;
	}
	/* [mutex.6] release; pairs mutex.1, mutex.2, mutex.7, mutex.19; upholds
	 * Mutex!MutualExclusion: as mutex.4. */
	wp_store_release(&mutex->word, (word & ~(uint32_t)WP_MUTEX_LOCKED) | WP_MUTEX_WOKEN);
	tell(first, &wake);
	wp_lock_release(&mutex->lock);
	wp__wake(&wake);
}

int wp__mutex_unlock_queued(wp_mutex *mutex)
{
	/* [mutex.16] relaxed: stale costs a failing mutex.5, or an acquisition of the lock; pairs
	 * mutex.3, mutex.8, mutex.14; upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	for (;;) {
		bool is_coming = word & WP_MUTEX_WOKEN && word / WP_MUTEX_PASS < WP_MUTEX_BYPASSES;

		if (!(word & WP_MUTEX_LOCKED))
			return WP_FORBIDDEN;
		if (word & WP_MUTEX_QUEUED && !is_coming) {
			wp_lock_acquire(&mutex->lock);
			if (mutex->line.first != NULL)
				break;
			/* Free the mutex only after the lock: a thread that sees the mutex free may
			 * free its memory. */
			wp_lock_release(&mutex->lock);
			word = WP_MUTEX_LOCKED;
		}
		/* [mutex.5] release; pairs mutex.1, mutex.2, mutex.7, mutex.8, mutex.17, mutex.18;
		 * upholds Mutex!MutualExclusion: as mutex.4. */
		if (wp_cas_release(&mutex->word, &word, word & ~(uint32_t)WP_MUTEX_LOCKED))
			return WP_OK;
	}
	unlock_locked(mutex, mutex->line.first);
	return WP_OK;
}

/* Takes the mutex for the first waiter; `next` is the waiter behind it. True: taken. [under the
 * lock] */
static bool take_first(wp_mutex *mutex, const wp_waiter *next)
{
	uint32_t taken = WP_MUTEX_LOCKED | (next != NULL ? WP_MUTEX_QUEUED : 0);
	/* [mutex.17] relaxed: stale costs a failing mutex.7 or mutex.8; WOKEN is ordered by the
	 * lock; pairs mutex.5; upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	for (;;) {
		if (!(word & WP_MUTEX_LOCKED)) {
			/* [mutex.7] acquire; pairs mutex.4, mutex.5, mutex.6; upholds
			 * Mutex!MutualExclusion: as mutex.1. */
			if (wp_cas_acquire(&mutex->word, &word, taken))
				return true;
			continue;
		}
		if (!(word & WP_MUTEX_WOKEN))
			return false;
		/* [mutex.8] relaxed: atomicity is enough; pairs mutex.5, mutex.16; upholds
		 * Mutex!NoLostSignal: the unlocker must tell the waiter again. */
		if (wp_cas_relaxed(&mutex->word, &word, word & ~(uint32_t)WP_MUTEX_WOKEN))
			return false;
	}
}

bool wp__mutex_check(wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_in_line, is_taken = false;

	if (wp__waiter_is_granted(waiter)) {
		wp__mutex_has(mutex, waiter);
		return true;
	}
	wp_lock_acquire(&mutex->lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line && mutex->line.first == waiter)
		is_taken = take_first(mutex, mutex->line.first->next);
	if (is_taken) {
		wp__wait_queue_remove(waiter);
	} else if (is_in_line) {
		/* [mutex.12] relaxed: ordered by the lock; pairs mutex.11; upholds
		 * Mutex!NoLostSignal. */
		wp_store_relaxed(&waiter->state, WP_WAITER_WAITS);
		wp__waiter_renew(waiter);
	}
	wp_lock_release(&mutex->lock);
	if (is_in_line && !is_taken)
		return false;
	if (!is_in_line)
		wp__waiter_await(waiter);
	wp__mutex_has(mutex, waiter);
	return true;
}

/* Clears all but LOCKED, as the queue is empty now. [under the lock] */
static void unmark(wp_mutex *mutex)
{
	/* [mutex.18] relaxed: stale costs a failing mutex.14; pairs mutex.5; upholds
	 * Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	/* [mutex.14] relaxed: atomicity is enough: what the last holder released stays in the word;
	 * pairs mutex.16; upholds Mutex!BoundedBypass: bypasses are counted only while there is a
	 * queue. */
	while (!wp_cas_relaxed(&mutex->word, &word, word & WP_MUTEX_LOCKED))
		continue;
}

/* The first waiter has left the queue, and `next` takes over its duty to look. [under the lock,
 * which is released here] */
static void pass_on(wp_mutex *mutex, wp_waiter *next)
{
	/* [mutex.19] relaxed: ordered by the lock, under which WOKEN changes; pairs mutex.6;
	 * upholds Mutex!NoLostSignal. */
	bool is_woken = wp_load_relaxed(&mutex->word) & WP_MUTEX_WOKEN;
	wp_wake wake;

	if (is_woken)
		tell(next, &wake);
	wp_lock_release(&mutex->lock);
	if (is_woken)
		wp__wake(&wake);
}

bool wp__mutex_cancel(wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_in_line, was_first;

	wp_lock_acquire(&mutex->lock);
	is_in_line = waiter->line != NULL;
	was_first = is_in_line && mutex->line.first == waiter;
	if (is_in_line)
		wp__wait_queue_remove(waiter);
	if (is_in_line && mutex->line.first == NULL)
		unmark(mutex);
	if (was_first && mutex->line.first != NULL)
		pass_on(mutex, mutex->line.first);
	else
		wp_lock_release(&mutex->lock);
	wp__waiter_over(waiter);
	if (is_in_line)
		return true;
	wp__waiter_await(waiter);
	wp__mutex_has(mutex, waiter);
	return false;
}

int wp__mutex_lock(wp_mutex *mutex, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc;

	if (wp__mutex_begin(mutex, waiter))
		return WP_OK;
	do {
		rc = wp__waiter_park(waiter, deadline_ns);
		if (rc != WP_OK)
			return wp__mutex_cancel(mutex, waiter) ? rc : WP_OK;
	} while (!wp__mutex_check(mutex, waiter));
	return WP_OK;
}

/* The result of a lock that succeeded. [the holder | wait-free] */
static int said(wp_mutex *mutex)
{
	return wp_mutex_was_abandoned(mutex) ? WP_ABANDONED : WP_OK;
}

int wp_mutex_lock_until(wp_mutex *mutex, int64_t deadline_ns)
{
	wp_waiter waiter;
	int rc;

	wp__waiter_init_self(&waiter, WP_WAIT_MUTEX);
	rc = wp__mutex_lock(mutex, &waiter, deadline_ns);
	return rc == WP_OK ? said(mutex) : rc;
}

int wp_mutex_lock(wp_mutex *mutex)
{
	bool was_interrupted = false;
	wp_waiter waiter;

	if (wp_mutex_try_lock(mutex))
		return said(mutex);
	wp__waiter_init_self(&waiter, WP_WAIT_MUTEX);
	if (wp__mutex_begin(mutex, &waiter))
		return said(mutex);
	do
		was_interrupted |= wp__waiter_park_through(&waiter);
	while (!wp__mutex_check(mutex, &waiter));
	wp__waiter_interrupt_again(&waiter, was_interrupted);
	return said(mutex);
}
