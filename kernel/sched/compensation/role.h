/* SPDX-License-Identifier: Apache-2.0
 * role.h - the role of a carrier: the right to run the carrier's loop. One OS thread at a time
 * holds it. A thread that is about to block lends the role to a spare thread. All of this is under
 * one lock. Only spare_thread.c and worker.c use it; spare_thread.h says what it is for.
 *
 *   holder of the role                     a spare thread
 *   lend: offer the role, or free it for   next: take an offered role; run the carrier
 *     a lender that waits for it             a lender asks for the role: give it
 *   take_back: not taken yet? withdraw it    or a stop was read: stop; the last holder
 *     else ask; wait until it is free          ends the carrier
 *                                            next
 *
 *   a role is  held          One thread runs the loop of the carrier, or a task on its stack.
 *              `is_offered`  Its lender blocks, and any spare thread may take the role.
 *              `is_free`     The holder has given the role up, and a lender takes it back.
 *
 * Why it works  Each step from state to state is under the lock. `waiting` counts a thread from the
 *               step by which it gives a role up, and not only from its arrival at `next`, because
 *               the next holder of the role may need it before that.
 * Spec          specs/sched/compensation/SpareThread.tla: OneHolder, ExitsAlone, KeepsIfAlone,
 *               StopIsLast, OthersRun.
 * Evidence      make check-specs T=SpareThread, make stress T=spare_thread,
 *               tests/sched/compensation/test_spare_thread.py. */
#ifndef WP_ROLE_H
#define WP_ROLE_H

#include "base/futex.h"

/* The role of one carrier. It is under the lock of the spares, except is_wanted, which only the
 * role's holder uses. */
typedef struct wp_role {
	struct wp_role *next; /* the next offered role */
	wp_cond freed;
	bool is_offered, is_free;
	bool is_wanted;   /* the holder must give it up at its next turn */
	uint32_t lent;    /* lenders that have not taken it back */
	uint32_t wanting; /* those that wait for it now */
} wp_role;

/* The OS threads of a group, and the roles on offer. A zeroed one has none. */
typedef struct wp_roles {
	wp_lock lock;
	wp_cond some;
	wp_role *offered;
	uint32_t offers;  /* the number of offered roles */
	uint32_t waiting; /* threads without a role, waiting or about to wait */
	bool is_over;
} wp_roles;

/* Offers the role to spare threads. [under the lock | a system call if a thread sleeps] */
WP_INLINE void wp__role_offer(wp_roles *roles, wp_role *role)
{
	role->is_offered = true;
	role->next = roles->offered;
	roles->offered = role;
	roles->offers++;
	wp_cond_signal(&roles->some);
}

/* Takes the role off the offers. [under the lock | wait-free] */
WP_INLINE void wp__role_withdraw(wp_roles *roles, wp_role *role)
{
	wp_role **at = &roles->offered;

	while (*at != role)
		at = &(*at)->next;
	*at = role->next;
	role->is_offered = false;
	roles->offers--;
}

/* Frees the role for a lender that waits for it, or will. [under the lock | a system call if a
 * lender sleeps] */
WP_INLINE void wp__role_free(wp_role *role)
{
	role->is_wanted = false;
	role->is_free = true;
	wp_cond_signal(&role->freed);
}

/* Returns true if a spare thread is there for one more offer. If none is left, the call starts a
 * thread, if it may. [under the lock | may start a thread] */
WP_INLINE bool wp__role_has_spare(wp_roles *roles, bool (*add)(void *arg), void *arg)
{
	if (roles->waiting > roles->offers)
		return true;
	if (!add(arg))
		return false;
	roles->waiting++;
	return true;
}

/* Lends the role, before its holder blocks. Returns true if it lent the role; the caller must take
 * it back later. Returns false if no thread is left to take it, so that the caller keeps it. [the
 * role's holder | may start a thread] */
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

/* Waits until the holder has given the role up. [the lender, under the lock, which is released
 * meanwhile | blocks] */
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

/* Takes the role back, when its lender no longer blocks. When this returns, the lender holds the
 * role. `tell` makes the holder call wp__role_asked, and runs outside the lock. [the lender |
 * blocks] */
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

/* Records that a lender wants the role back. [the role's holder, at a turn of its loop | wait-free]
 */
WP_INLINE void wp__role_asked(wp_role *role)
{
	role->is_wanted = true;
}

/* Returns true if the holder may poll. It may not if another thread has read the stop meanwhile:
 * otherwise tasks that pin in turn would never let the carrier end. [the role's holder | wait-free]
 */
WP_INLINE bool wp__role_polls(bool has_stop)
{
	return !has_stop;
}

/* Gives the role up, when a lender has asked for it. [the role's holder, at a turn of its loop |
 * blocks briefly] */
WP_INLINE void wp__role_give(wp_roles *roles, wp_role *role)
{
	wp_lock_acquire(&roles->lock);
	wp__role_free(role);
	roles->waiting++;
	wp_lock_release(&roles->lock);
}

/* Gives the role up, when the stop was read. Returns true if the carrier has ended, and false if a
 * lender of the role will end it. [the role's holder, at a turn of its loop | blocks briefly] */
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

/* Waits until the calling thread, which has no role, gets one. Returns NULL if the thread must end.
 * [an OS thread of the group | blocks] */
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

/* Ends the threads that wait, when all carriers have ended. [the close | blocks briefly] */
WP_INLINE void wp__roles_end(wp_roles *roles)
{
	wp_lock_acquire(&roles->lock);
	roles->is_over = true;
	for (uint32_t left = roles->waiting; left != 0; left--)
		wp_cond_signal(&roles->some);
	wp_lock_release(&roles->lock);
}

#endif
