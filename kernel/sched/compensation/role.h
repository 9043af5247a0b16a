/* SPDX-License-Identifier: Apache-2.0
 * role.h - the role of a carrier, and the OS threads that may have it, under one lock. For
 * spare_thread.c and worker.c alone; spare_thread.h says what it is for.
 *
 *   who carries                            a spare
 *   lend: offered, or free for who wants   next: takes an offer
 *   take_back: not taken yet? has it         give: is asked for; or stop: the last ends it
 *     else ask; wait until it is free        next
 *
 * Why it works  A role is in one of three hands: who carries it; `is_offered`; `is_free`. Each step
 *               from hand to hand is under the lock. `waiting` counts a thread from the step by
 *               which it gives a role up, not from when it arrives: who has the role next may need
 *               it before that.
 * Spec          specs/sched/compensation/SpareThread.tla: OneHolder, ExitsAlone, KeepsIfAlone,
 *               StopIsLast, OthersRun.
 * Evidence      make check-specs T=SpareThread, make stress T=spare_thread,
 *               tests/sched/compensation/test_spare_thread.py. */
#ifndef WP_ROLE_H
#define WP_ROLE_H

#include "base/futex.h"

/* Of one carrier, under the lock of the spares. is_wanted: who has the role. */
typedef struct wp_role {
	struct wp_role *next; /* among those that are offered */
	wp_cond freed;
	bool is_offered, is_free;
	bool is_wanted;   /* at the next turn it is to be given up */
	uint32_t lent;    /* to be given back */
	uint32_t wanting; /* of these: they wait for it */
} wp_role;

/* The threads of a group. Zeroed is none. */
typedef struct wp_roles {
	wp_lock lock;
	wp_cond some;
	wp_role *offered;
	uint32_t offers;  /* and how many */
	uint32_t waiting; /* threads that carry nothing, or are on their way to wait */
	bool is_over;
} wp_roles;

/* [under the lock] */
WP_INLINE void wp__role_offer(wp_roles *roles, wp_role *role)
{
	role->is_offered = true;
	role->next = roles->offered;
	roles->offered = role;
	roles->offers++;
	wp_cond_signal(&roles->some);
}

/* [under the lock] */
WP_INLINE void wp__role_withdraw(wp_roles *roles, wp_role *role)
{
	wp_role **at = &roles->offered;

	while (*at != role)
		at = &(*at)->next;
	*at = role->next;
	role->is_offered = false;
	roles->offers--;
}

/* To who waits for it, or will. [under the lock] */
WP_INLINE void wp__role_free(wp_role *role)
{
	role->is_wanted = false;
	role->is_free = true;
	wp_cond_signal(&role->freed);
}

/* Is there a thread for another offer? Starts one where it may. [under the lock] */
WP_INLINE bool wp__role_has_spare(wp_roles *roles, bool (*add)(void *arg), void *arg)
{
	if (roles->waiting > roles->offers)
		return true;
	if (!add(arg))
		return false;
	roles->waiting++;
	return true;
}

/* Before it blocks. True: lent, and to be taken back; false: it keeps the role, as nobody is left
 * to have it. [who has the role | may start a thread] */
WP_INLINE bool wp__role_lend(wp_roles *roles, wp_role *role, bool (*add)(void *arg), void *arg)
{
	bool is_lent = true;

	wp_lock_acquire(&roles->lock);
	if (role->wanting != 0)
		wp__role_free(role);
	else if (wp__role_has_spare(roles, add, arg))
		wp__role_offer(roles, role);
	else
		is_lent = false;
	role->lent += is_lent;
	wp_lock_release(&roles->lock);
	return is_lent;
}

/* Waits until whoever carries has given it up. [under the lock, released meanwhile] */
WP_INLINE void wp__role_await(wp_roles *roles, wp_role *role, void (*tell)(void *arg), void *arg)
{
	role->wanting++;
	wp_lock_release(&roles->lock);
	tell(arg);
	wp_lock_acquire(&roles->lock);
	while (!role->is_free)
		wp_cond_wait(&role->freed, &roles->lock, WP_FOREVER);
	role->wanting--;
}

/* When it blocks no more; it has the role when this returns. `tell` has whoever carries call
 * wp__role_asked; not under the lock. [who has lent it | blocks] */
WP_INLINE void wp__role_take_back(wp_roles *roles, wp_role *role, void (*tell)(void *arg),
				  void *arg)
{
	wp_lock_acquire(&roles->lock);
	if (role->is_offered)
		wp__role_withdraw(roles, role);
	else if (!role->is_free)
		wp__role_await(roles, role, tell, arg);
	role->is_free = false;
	role->lent--;
	role->is_wanted = role->wanting != 0;
	wp_lock_release(&roles->lock);
}

/* [who has the role, at a turn of its loop | wait-free] */
WP_INLINE void wp__role_asked(wp_role *role)
{
	role->is_wanted = true;
}

/* May it poll? The stop may have been read by another thread meanwhile: who pins in turn would
 * never let it end. [who has the role | wait-free] */
WP_INLINE bool wp__role_polls(bool has_stop)
{
	return !has_stop;
}

/* It was asked for. [who has the role, at a turn of its loop | blocks shortly] */
WP_INLINE void wp__role_give(wp_roles *roles, wp_role *role)
{
	wp_lock_acquire(&roles->lock);
	wp__role_free(role);
	roles->waiting++;
	wp_lock_release(&roles->lock);
}

/* The stop was read. True: the carrier has ended; false: who has lent the role is to end it. [who
 * has the role, at a turn of its loop | blocks shortly] */
WP_INLINE bool wp__role_stop(wp_roles *roles, wp_role *role)
{
	bool is_last;

	wp_lock_acquire(&roles->lock);
	is_last = role->lent == 0;
	if (!is_last)
		wp__role_free(role);
	roles->waiting++;
	wp_lock_release(&roles->lock);
	return is_last;
}

/* The next role of a thread that has none; NULL: it is to end. [an OS thread of the group |
 * blocks] */
WP_INLINE wp_role *wp__role_next(wp_roles *roles)
{
	wp_role *role;

	wp_lock_acquire(&roles->lock);
	while (roles->offered == NULL && !roles->is_over)
		wp_cond_wait(&roles->some, &roles->lock, WP_FOREVER);
	role = roles->offered;
	if (role != NULL)
		wp__role_withdraw(roles, role);
	roles->waiting--;
	wp_lock_release(&roles->lock);
	return role;
}

/* All carriers have ended. [the close | blocks shortly] */
WP_INLINE void wp__roles_end(wp_roles *roles)
{
	wp_lock_acquire(&roles->lock);
	roles->is_over = true;
	for (uint32_t left = roles->waiting; left != 0; left--)
		wp_cond_signal(&roles->some);
	wp_lock_release(&roles->lock);
}

#endif
