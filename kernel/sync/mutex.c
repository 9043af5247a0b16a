/* SPDX-License-Identifier: Apache-2.0
 * mutex.c - the functions of the mutex that are not inline. mutex.h explains the protocol and its
 * terms (waiter, bypass, QUEUED, WOKEN), wait_queue.h the grant, and wakers.h the wake. */
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
	/* [mutex.9] relaxed: a word that is stale costs a failed attempt at mutex.2, or a wait in
	 * the queue; pairs mutex.2; upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	while (!(word & WP_MUTEX_LOCKED)) {
		uint32_t pass = word & WP_MUTEX_QUEUED ? WP_MUTEX_PASS : 0;

		/* [mutex.2] acquire; pairs mutex.4, mutex.5, mutex.6, mutex.9, mutex.13; upholds
		 * Mutex!MutualExclusion: the new holder sees what the last one wrote. The same step
		 * counts the bypass, for Mutex!BoundedBypass. */
		if (wp_cas_acquire(&mutex->word, &word, word + WP_MUTEX_LOCKED + pass))
			return true;
	}
	return false;
}

/* Takes the mutex if it is free, and else sets QUEUED. Returns true if it took the mutex. [any
 * thread, under the queue's lock] */
static bool take_or_mark(wp_mutex *mutex)
{
	for (;;) {
		uint32_t word;

		if (wp__mutex_pass(mutex))
			return true;
		/* [mutex.10] relaxed; pairs mutex.4; upholds Mutex!NoLostSignal. A LOCKED bit that
		 * is stale costs a failed attempt at mutex.3. QUEUED is never stale here, because
		 * it changes only under the queue's lock. */
		word = wp_load_relaxed(&mutex->word);
		if (word & WP_MUTEX_QUEUED)
			return false;
		/* [mutex.3] relaxed: atomicity is enough, because this step publishes no data to
		 * another thread; pairs mutex.4, mutex.15, mutex.16; upholds Mutex!NoLostSignal:
		 * the unlock sees that there is a waiter. */
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
	wp_short_lock_acquire(&mutex->lock);
	is_taken = take_or_mark(mutex);
	if (!is_taken)
		wp__wait_queue_add(&mutex->line, waiter);
	wp_short_lock_release(&mutex->lock);
	return is_taken;
}

void wp__mutex_has(wp_mutex *mutex, wp_waiter *waiter)
{
	wp__waiter_over(waiter);
	wp__mutex_taken(mutex, waiter->thread);
}

/* Ends the wait of a thread that will not run again, because its group is closed. Takes the
 * thread's waiter out of the queue; or, if the waiter was given the mutex before, unlocks the
 * mutex. [the close of the group, by the waiter's function pointer `leave` (wait_queue.h)] */
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

/* Tells the first waiter to try to take the mutex, and prepares its wake. The caller must release
 * the queue's lock, and then perform the wake. The waiter cannot leave the queue before that
 * release, so until then the group of the waiter exists. After the release the group still exists,
 * because wp__wake_prepare has counted the caller as a thread that uses the group (wakers.h). [the
 * holder, or a waiter that leaves; under the queue's lock] */
static void tell(wp_waiter *first, wp_wake *wake)
{
	wp__wake_prepare(wake, first);
	/* [mutex.11] relaxed: ordered by the queue's lock, under which the waiter tries to take the
	 * mutex; pairs mutex.12; upholds Mutex!NoLostSignal. */
	wp_store_relaxed(&first->state, WP_WAITER_LOOK);
}

/* Gives the mutex to the first waiter, so that it is never free in between. [the holder, under the
 * queue's lock, which this function releases] */
static void hand_over(wp_mutex *mutex, wp_waiter *first)
{
	wp__wait_queue_remove(first);
	/* [mutex.13] relaxed: ordered by wait_queue.2, the release by which wp__waiter_grant below
	 * wakes the new holder; pairs mutex.2; upholds Mutex!BoundedBypass: the count of bypasses
	 * starts at 0 again. */
	wp_store_relaxed(&mutex->word,
			 WP_MUTEX_LOCKED | (mutex->line.first != NULL ? WP_MUTEX_QUEUED : 0));
	wp_short_lock_release(&mutex->lock);
	wp__waiter_grant(first);
}

/* Unlocks a mutex with waiters. While LOCKED is set, only the holder changes the word, except at
 * mutex.3, mutex.8 and mutex.14. A thread needs the queue's lock for each of these three, and here
 * the holder has that lock. So no other thread changes the word between mutex.15 and mutex.6. [the
 * holder, under the queue's lock, which this function releases] */
static void unlock_locked(wp_mutex *mutex, wp_waiter *first)
{
	wp_wake wake;
	/* [mutex.15] relaxed: ordered by the queue's lock, as the comment of this function
	 * explains; pairs mutex.3; upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	if (word / WP_MUTEX_PASS >= WP_MUTEX_BYPASSES) {
		hand_over(mutex, first);
		return;
	}
	/* [mutex.6] release; pairs mutex.1, mutex.2, mutex.7, mutex.19; upholds
	 * Mutex!MutualExclusion: the next holder sees what this holder wrote. */
	wp_store_release(&mutex->word, (word & ~(uint32_t)WP_MUTEX_LOCKED) | WP_MUTEX_WOKEN);
	tell(first, &wake);
	wp_short_lock_release(&mutex->lock);
	wp__wake(&wake);
}

int wp__mutex_unlock_queued(wp_mutex *mutex)
{
	/* [mutex.16] relaxed: a word that is stale costs a failed attempt at mutex.5, or an
	 * acquisition of the queue's lock; pairs mutex.3, mutex.8, mutex.14; upholds
	 * Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	for (;;) {
		bool is_coming = word & WP_MUTEX_WOKEN && word / WP_MUTEX_PASS < WP_MUTEX_BYPASSES;

		if (!(word & WP_MUTEX_LOCKED))
			return WP_FORBIDDEN;
		if (word & WP_MUTEX_QUEUED && !is_coming) {
			wp_short_lock_acquire(&mutex->lock);
			if (mutex->line.first != NULL)
				break;
			/* First release the queue's lock, and only then unlock the mutex at
			 * mutex.5. As soon as the mutex is unlocked, another thread may deallocate
			 * it, and the queue's lock with it. */
			wp_short_lock_release(&mutex->lock);
			word = WP_MUTEX_LOCKED;
		}
		/* [mutex.5] release; pairs mutex.1, mutex.2, mutex.7, mutex.8, mutex.17, mutex.18;
		 * upholds Mutex!MutualExclusion: the next holder sees what this holder wrote. */
		if (wp_cas_release(&mutex->word, &word, word & ~(uint32_t)WP_MUTEX_LOCKED))
			return WP_OK;
	}
	unlock_locked(mutex, mutex->line.first);
	return WP_OK;
}

/* Returns the word after the first waiter was woken and has found the mutex held. */
static uint32_t missed(uint32_t word)
{
	return (word & ~(uint32_t)WP_MUTEX_WOKEN) + WP_MUTEX_MISS * WP_MUTEX_PASS;
}

/* Takes the mutex for the first waiter if it is free, and else clears WOKEN. `next` is the second
 * waiter; NULL if there is none. Returns true if it took the mutex. [the first waiter's thread,
 * under the queue's lock] */
static bool take_first(wp_mutex *mutex, const wp_waiter *next)
{
	uint32_t taken = WP_MUTEX_LOCKED | (next != NULL ? WP_MUTEX_QUEUED : 0);
	/* [mutex.17] relaxed; pairs mutex.5; upholds Mutex!NoLostSignal. A LOCKED bit that is stale
	 * costs a failed attempt at mutex.7 or mutex.8. WOKEN is never stale here, because it
	 * changes only under the queue's lock. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	for (;;) {
		if (!(word & WP_MUTEX_LOCKED)) {
			/* [mutex.7] acquire; pairs mutex.4, mutex.5, mutex.6; upholds
			 * Mutex!MutualExclusion: the new holder sees what the last one wrote. */
			if (wp_cas_acquire(&mutex->word, &word, taken))
				return true;
			continue;
		}
		if (!(word & WP_MUTEX_WOKEN))
			return false;
		/* [mutex.8] relaxed: atomicity is enough, because this step publishes no data to
		 * another thread; pairs mutex.5, mutex.16; upholds Mutex!NoLostSignal: the next
		 * unlock sees that it must wake the waiter again, or hand the mutex over. The same
		 * step counts the look in vain, for Mutex!MissesCounted. */
		if (wp_cas_relaxed(&mutex->word, &word, missed(word)))
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
	wp_short_lock_acquire(&mutex->lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line && mutex->line.first == waiter)
		is_taken = take_first(mutex, mutex->line.first->next);
	if (is_taken) {
		wp__wait_queue_remove(waiter);
	} else if (is_in_line) {
		/* [mutex.12] relaxed: ordered by the queue's lock; pairs mutex.11; upholds
		 * Mutex!NoLostSignal. */
		wp_store_relaxed(&waiter->state, WP_WAITER_WAITS);
		wp__waiter_renew(waiter);
	}
	wp_short_lock_release(&mutex->lock);
	if (is_in_line && !is_taken)
		return false;
	if (!is_in_line)
		wp__waiter_await(waiter);
	wp__mutex_has(mutex, waiter);
	return true;
}

/* Clears QUEUED, WOKEN and passes, because the queue is empty now. [the waiter that left last,
 * under the queue's lock] */
static void unmark(wp_mutex *mutex)
{
	/* [mutex.18] relaxed: a value that is stale costs one failure of mutex.14, which then
	 * loads the word again; pairs mutex.5; upholds Mutex!NoLostSignal. */
	uint32_t word = wp_load_relaxed(&mutex->word);

	/* [mutex.14] relaxed: atomicity is enough, because a read-modify-write continues the
	 * release sequence of the last unlock; pairs mutex.16; upholds Mutex!BoundedBypass:
	 * bypasses are counted only while there are waiters. */
	while (!wp_cas_relaxed(&mutex->word, &word, word & WP_MUTEX_LOCKED))
		continue;
}

/* Called after the first waiter has left the queue without the mutex; `next` is now the first. If
 * WOKEN is set, the unlock woke only the waiter that has left, so this wakes `next` in its place.
 * [the waiter that left, under the queue's lock, which this function releases] */
static void pass_on(wp_mutex *mutex, wp_waiter *next)
{
	/* [mutex.19] relaxed: ordered by the queue's lock, under which WOKEN changes; pairs
	 * mutex.6; upholds Mutex!NoLostSignal. */
	bool is_woken = wp_load_relaxed(&mutex->word) & WP_MUTEX_WOKEN;
	wp_wake wake;

	if (is_woken)
		tell(next, &wake);
	wp_short_lock_release(&mutex->lock);
	if (is_woken)
		wp__wake(&wake);
}

bool wp__mutex_cancel(wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_in_line, was_first;

	wp_short_lock_acquire(&mutex->lock);
	is_in_line = waiter->line != NULL;
	was_first = is_in_line && mutex->line.first == waiter;
	if (is_in_line)
		wp__wait_queue_remove(waiter);
	if (is_in_line && mutex->line.first == NULL)
		unmark(mutex);
	if (was_first && mutex->line.first != NULL)
		pass_on(mutex, mutex->line.first);
	else
		wp_short_lock_release(&mutex->lock);
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

int wp_mutex_lock_until(wp_mutex *mutex, int64_t deadline_ns)
{
	wp_waiter waiter;
	int rc;

	wp__waiter_init_self(&waiter, WP_WAIT_MUTEX);
	rc = wp__mutex_lock(mutex, &waiter, deadline_ns);
	return rc == WP_OK ? wp__mutex_said(mutex) : rc;
}

/* A call even in a whole program: a caller whose mutex is free keeps no stack for the waiter. */
__attribute__((noinline)) int wp__mutex_lock_waiting(wp_mutex *mutex)
{
	bool was_interrupted = false;
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_MUTEX);
	if (wp__mutex_begin(mutex, &waiter))
		return wp__mutex_said(mutex);
	do
		was_interrupted |= wp__waiter_park_through(&waiter);
	while (!wp__mutex_check(mutex, &waiter));
	wp__waiter_interrupt_again(&waiter, was_interrupted);
	return wp__mutex_said(mutex);
}
