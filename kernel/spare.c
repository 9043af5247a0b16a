/* SPDX-License-Identifier: Apache-2.0
 * spare.c - see spare.h. Not explored, for it makes threads. */
#include "spare.h"

#include <stddef.h>

#include "bounded.h"
#include "worker_trace.h"

#ifndef WP_EXPLORE

static void *begin(void *arg)
{
	wp_group *group = arg;

	wp__worker_carry(group, wp__spare_next(group));
	return NULL;
}

/* Is there one for another offer? Starts it where it may. [under the lock] */
static bool has_spare(wp_group *group)
{
	wp_spares *spares = &group->spares;

	if (spares->waiting > spares->offers)
		return true;
	if (spares->started == spares->most ||
	    pthread_create(&spares->threads[spares->started], NULL, begin, group) != 0)
		return false;
	spares->started++;
	spares->waiting++;
	return true;
}

/* [under the lock] */
static void offer(wp_spares *spares, wp_worker *mine)
{
	mine->role.is_offered = true;
	mine->role.next = spares->offered;
	spares->offered = mine;
	spares->offers++;
	wp_cond_signal(&spares->some);
}

/* To who waits for it, or will. [under the lock] */
static void set_free(wp_role *role)
{
	role->is_wanted = false;
	role->is_free = true;
	wp_cond_signal(&role->freed);
}

static void lend(wp_worker *mine, wp_loan *loan)
{
	wp_spares *spares = &mine->group->spares;

	wp_lock_acquire(&spares->lock);
	loan->is_lent = true;
	if (mine->role.wanting != 0)
		set_free(&mine->role);
	else if (has_spare(mine->group))
		offer(spares, mine);
	else
		loan->is_lent = false;
	mine->role.lent += loan->is_lent;
	wp_lock_release(&spares->lock);
}

void wp__spare_lend(wp_loan *loan)
{
	wp_worker *mine = wp__worker_self();

	*loan = (wp_loan){.of = mine};
	if (mine == NULL)
		return;
	wp__poller_unpark(mine); /* who has the role next finds it RUNNING */
	wp__count(&mine->pinned);
	loan->watching = mine->watching;
	loan->mounted = wp__worker_mounted(mine);
	loan->runs_for = mine->runs_for;
	loan->begin_ns = wp__worker_now_ns(mine);
	if (mine->group->spares.most != 0)
		lend(mine, loan);
}

/* [under the lock] */
static void take_offer(wp_spares *spares, wp_worker *one)
{
	wp_worker **at = &spares->offered;

	while (*at != one)
		at = &(*at)->role.next;
	*at = one->role.next;
	one->role.is_offered = false;
	spares->offers--;
}

/* [who has the role, at a turn of its loop] */
static wp_task *ask(wp_timer *timer)
{
	wp_loan *loan = (wp_loan *)(void *)((char *)timer - offsetof(wp_loan, timer));

	loan->of->role.is_wanted = !wp_twin(spare_keeps);
	return NULL;
}

/* Waits until whoever carries has given it up. [under the lock, released meanwhile] */
static void await(wp_spares *spares, wp_loan *loan)
{
	wp_role *role = &loan->of->role;

	role->wanting++;
	wp_lock_release(&spares->lock);
	if (!wp_twin(spare_unasked))
		wp_home_arm(&loan->of->home, NULL, &loan->timer, 0);
	wp_lock_acquire(&spares->lock);
	while (!role->is_free)
		wp_cond_wait(&role->freed, &spares->lock, WP_FOREVER);
	role->wanting--;
}

static void take_back(wp_loan *loan)
{
	wp_spares *spares = &loan->of->group->spares;
	wp_role *role = &loan->of->role;

	wp_timer_init(&loan->timer, ask);
	wp_lock_acquire(&spares->lock);
	if (role->is_offered)
		take_offer(spares, loan->of);
	else if (!role->is_free)
		await(spares, loan);
	role->is_free = false;
	role->lent--;
	role->is_wanted = role->wanting != 0;
	wp_lock_release(&spares->lock);
	wp_timer_cancel(&loan->timer);
	wp__worker_mount(loan->of, loan->watching);
}

void wp__spare_return(wp_loan *loan, wp_task *task)
{
	wp_worker *mine = loan->of;

	if (mine == NULL)
		return;
	if (loan->is_lent && !wp_twin(spare_goes_on))
		take_back(loan);
	mine->runs_for = loan->runs_for;
	wp__worker_runs(mine, loan->mounted);
	if (wp__worker_is_traced(mine)) {
		wp_trace_event event = {.begin_ns = loan->begin_ns, .kind = WP_TRACE_PINNED,
					.a = wp__worker_home_of(task)};

		wp__trace_of(&event, task);
		wp__worker_trace(mine, event);
	}
}

void wp__spare_give(wp_worker *mine)
{
	wp_spares *spares = &mine->group->spares;
	wp_carrier *carrier = &mine->home.carrier;

	/* Who gets the role polls nothing before it goes on. */
	if (wp__carrier_has_some(carrier) && !wp_twin(spare_gives_silent))
		wp_carrier_get_help(carrier);
	wp_lock_acquire(&spares->lock);
	set_free(&mine->role);
	spares->waiting++; /* now: who has the role next may need this thread before it waits */
	wp_lock_release(&spares->lock);
}

bool wp__spare_stop(wp_worker *mine)
{
	wp_spares *spares = &mine->group->spares;
	bool is_last;

	if (spares->most == 0)
		return true;
	wp_lock_acquire(&spares->lock);
	is_last = mine->role.lent == 0 || wp_twin(spare_exits_first);
	if (!is_last)
		set_free(&mine->role);
	spares->waiting++;
	wp_lock_release(&spares->lock);
	return is_last;
}

wp_worker *wp__spare_next(wp_group *group)
{
	wp_spares *spares = &group->spares;
	wp_worker *mine;

	if (spares->most == 0)
		return NULL;
	wp_lock_acquire(&spares->lock);
	while (spares->offered == NULL && !spares->is_over)
		wp_cond_wait(&spares->some, &spares->lock, WP_FOREVER);
	mine = spares->offered;
	if (mine != NULL)
		take_offer(spares, mine);
	spares->waiting--;
	wp_lock_release(&spares->lock);
	return mine;
}

void wp__spares_end(wp_spares *spares)
{
	wp_lock_acquire(&spares->lock);
	spares->is_over = true;
	for (uint32_t left = spares->waiting; left != 0; left--)
		wp_cond_signal(&spares->some);
	wp_lock_release(&spares->lock);
	for (; spares->started != 0; spares->started--)
		pthread_join(spares->threads[spares->started - 1], NULL);
}

#endif
