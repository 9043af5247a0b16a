/* SPDX-License-Identifier: Apache-2.0
 * scope_children.c - see scope_children.h. */
#include "scope/scope_children.h"

static void add(wp_scope_children *children, wp_member *member)
{
	member->prev = NULL;
	member->next = children->members;
	if (member->next != NULL)
		member->next->prev = member;
	children->members = member;
}

static void discard(wp_scope_children *children, wp_member *member)
{
	if (member->prev != NULL)
		member->prev->next = member->next;
	else
		children->members = member->next;
	if (member->next != NULL)
		member->next->prev = member->prev;
}

/* Takes the owner off the queue, if it waits, and grants it. [under the lock, which this function
 * releases] */
static void release_and_wake(wp_scope_children *children)
{
	wp_waiter *waiter = children->line.first;

	if (waiter != NULL)
		wp__wait_queue_remove(waiter);
	wp_lock_release(&children->lock);
	if (waiter != NULL)
		wp__waiter_grant(waiter);
}

bool wp__scope_children_enter(wp_scope_children *children, wp_member *member)
{
	bool is_open;

	member->outcome = WP_UNAVAILABLE;
	member->has_left = false;
	wp_lock_acquire(&children->lock);
	is_open = !wp__scope_children_is_cancelled(children);
	if (is_open)
		add(children, member);
	wp_lock_release(&children->lock);
	return is_open;
}

bool wp__scope_children_record(wp_scope_children *children, wp_member *member,
			       enum wp_outcome outcome)
{
	bool is_open, is_first;

	wp_lock_acquire(&children->lock);
	is_open = !wp__scope_children_is_cancelled(children);
	is_first = is_open && children->first[outcome] == NULL;
	if (is_open)
		member->outcome = outcome;
	if (is_first)
		children->first[outcome] = member;
	wp_lock_release(&children->lock);
	return is_first && outcome == children->decides;
}

bool wp__scope_children_leave(wp_scope_children *children, wp_member *member)
{
	bool is_in_hand;

	wp_lock_acquire(&children->lock);
	is_in_hand = children->hand == member;
	if (is_in_hand)
		member->has_left = true;
	else
		discard(children, member);
	if (children->members == NULL)
		release_and_wake(children);
	else
		wp_lock_release(&children->lock);
	return !is_in_hand;
}

/* Interrupts a thread, and does the push or wake that this requires. [the canceller | as
 * children->push] */
static void interrupt(wp_scope_children *children, wp_vthread *thread)
{
	enum wp_owed owed = wp__vthread_interrupt(thread);

	if (owed == WP_OWES_PUSH)
		children->push(thread);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&thread->task.word, 1);
}

/* Sets `hand` to this member, or to the next one that is not the caller, and returns it. [under the
 * lock] */
static wp_member *take(wp_scope_children *children, wp_member *member, const wp_vthread *caller)
{
	while (member != NULL && member->thread == caller)
		member = member->next;
	children->hand = member;
	return member;
}

/* Finishes with this member and takes the next one into `hand`. [under the lock] */
static wp_member *put_back(wp_scope_children *children, wp_member *member, const wp_vthread *caller)
{
	wp_member *next = take(children, member->next, caller);

	if (!member->has_left)
		return next;
	discard(children, member);
	children->let_go(member->thread);
	return next;
}

/* Interrupts all members but the caller. [under the lock, which is released during each interrupt]
 */
static void interrupt_all(wp_scope_children *children, const wp_vthread *caller)
{
	wp_member *member = take(children, children->members, caller);

	while (member != NULL) {
		/* The thread has not ended, or has not left, so its group exists. */
		wp_wakers *wakers = wp__wakers_enter(member->thread->wakers);

		wp_lock_release(&children->lock);
		interrupt(children, member->thread);
		wp__wakers_exit(wakers);
		wp_lock_acquire(&children->lock);
		member = put_back(children, member, caller);
	}
}

bool wp__scope_children_cancel(wp_scope_children *children, const wp_vthread *caller, bool is_late)
{
	bool is_over;

	wp_lock_acquire(&children->lock);
	is_over = is_late && children->is_over;
	if (wp__scope_children_is_cancelled(children) || is_over) {
		wp_lock_release(&children->lock);
		return false;
	}
	/* [scope_children.1] relaxed: ordered by the lock, which a reader takes if it must not miss
	 * this store; pairs scope_children.2; upholds Scope!NoForkRunsAfterCancel. */
	wp_store_relaxed(&children->is_cancelled, 1);
	children->is_late = is_late;
	interrupt_all(children, caller);
	release_and_wake(children);
	return true;
}

/* The `leave` of the owner's waiter (wait_queue.h). The owner was given nothing that it would have
 * to return. */
static void leave_wait(wp_waiter *waiter)
{
	wp_scope_children *children = waiter->object;

	wp__waiter_cancel(&children->lock, waiter);
}

bool wp__scope_children_begin(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled)
{
	bool is_over;

	wp__waiter_init(waiter, waiter->thread, waiter->push);
	waiter->why = WP_WAIT_JOIN;
	wp__waiter_stands(waiter, leave_wait, children);
	wp_lock_acquire(&children->lock);
	is_over = children->members == NULL;
	if (or_cancelled && wp__scope_children_is_cancelled(children))
		is_over = true;
	if (!is_over)
		wp__wait_queue_add(&children->line, waiter);
	wp_lock_release(&children->lock);
	if (is_over)
		wp__waiter_over(waiter);
	return is_over;
}

int wp__scope_children_wait(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled)
{
	while (!wp__scope_children_begin(children, waiter, or_cancelled)) {
		int rc = wp__waiter_wait(&children->lock, waiter, WP_FOREVER);

		if (rc != WP_OK)
			return rc;
	}
	return WP_OK;
}

bool wp__scope_children_end(wp_scope_children *children)
{
	bool is_late;

	wp_lock_acquire(&children->lock);
	children->is_over = true;
	is_late = children->is_late;
	wp_lock_release(&children->lock);
	return is_late;
}
