/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the heaps of timer.h. Arming takes about one step; cancelling and firing take log n
 * steps, amortised.
 *
 * An armed timer starts as a heap of one. Two heaps of about the same size are merged, like a carry
 * in a binary counter. So each heap has about twice the size of the one before, and no root has
 * many children, which would all have to be merged when it fires. A timer that is armed and soon
 * cancelled stays among the small heaps. */
#include "sched/timer.h"

void wp_timers_init(wp_timers *timers)
{
	wp_init(&timers->earliest_ns, WP_FOREVER);
	timers->lock = (wp_lock){0};
	timers->count = 0;
	timers->first = NULL;
	for (int index = 0; index < WP_TIMER_HEAPS; index++)
		timers->heaps[index] = NULL;
}

/* Merges two heaps: the root that is due later goes below the other. [the lock's holder |
 * wait-free] */
static wp_timer *meld(wp_timer *one, wp_timer *other)
{
	wp_timer *above = other->deadline_ns < one->deadline_ns ? other : one;
	wp_timer *below = above == one ? other : one;

	below->next = above->child;
	below->back = &above->child;
	if (below->next != NULL)
		below->next->back = &below->next;
	above->child = below;
	return above;
}

/* Merges siblings: first in pairs, then the pairs from the last to the first. Returns NULL if there
 * are none.
 * [the lock's holder | as many steps as siblings] */
static wp_timer *meld_all(wp_timer *first)
{
	wp_timer *pairs = NULL, *root;

	while (first != NULL) {
		wp_timer *one = first, *other = first->next;

		first = other == NULL ? NULL : other->next;
		one = other == NULL ? one : meld(one, other);
		one->next = pairs;
		pairs = one;
	}
	root = pairs;
	if (root != NULL)
		pairs = pairs->next;
	while (pairs != NULL) {
		wp_timer *next = pairs->next;

		root = meld(root, pairs);
		pairs = next;
	}
	return root;
}

static void place(wp_timers *timers, uint32_t index, wp_timer *root)
{
	timers->heaps[index] = root;
	root->next = NULL;
	root->back = &timers->heaps[index];
}

/* Adds a timer to the heaps. [the lock's holder | as many steps as there are heaps, mostly one] */
static void put(wp_timers *timers, wp_timer *timer)
{
	uint32_t index = 0;

	timer->child = NULL;
	for (; timers->heaps[index] != NULL; index++) {
		timer = meld(timers->heaps[index], timer);
		timers->heaps[index] = NULL;
		if (index + 1 == WP_TIMER_HEAPS)
			break;
	}
	place(timers, index, timer);
	if (index >= timers->count)
		timers->count = index + 1;
}

/* Takes a timer off its heap. The timers below it are merged and take its place, if they are due no
 * earlier than the timer above it. [the lock's holder | as many steps as it has children] */
static void take_off(wp_timer *timer)
{
	wp_timer *rest = meld_all(timer->child), *next = timer->next;

	*timer->back = rest == NULL ? next : rest;
	if (rest != NULL) {
		rest->back = timer->back;
		rest->next = next;
	}
	if (next != NULL)
		next->back = rest == NULL ? timer->back : &rest->next;
}

/* Finds the first timer, after the previous one is gone. It also merges the last two heaps, so that
 * there are few heaps if as many timers fire as are armed. [the lock's holder | as many steps as
 * there are heaps] */
static void find_first(wp_timers *timers)
{
	wp_timer **heaps = timers->heaps, *first = NULL;
	uint32_t count = timers->count;

	while (count > 0 && heaps[count - 1] == NULL)
		count--;
	if (count > 1) {
		wp_timer *last = heaps[--count], *before = heaps[count - 1];

		heaps[count] = NULL;
		place(timers, count - 1, before == NULL ? last : meld(before, last));
	}
	for (uint32_t index = 0; index < count; index++)
		if (heaps[index] != NULL &&
		    (first == NULL || heaps[index]->deadline_ns < first->deadline_ns))
			first = heaps[index];
	timers->count = count;
	timers->first = first;
}

/* Publishes the earliest deadline. [the lock's holder | wait-free] */
static void settle(wp_timers *timers)
{
	wp_timer *first = timers->first;

	/* [timer.3] relaxed: ordered by the lock; a value that is stale costs the carrier one sleep
	 * that ends early; pairs timer.8; upholds Timer!Fires. */
	wp_store_relaxed(&timers->earliest_ns, first == NULL ? WP_FOREVER : first->deadline_ns);
}

bool wp_timer_arm(wp_timers *timers, wp_timer *timer, int64_t deadline_ns)
{
	bool is_first;

	wp_lock_acquire(&timers->lock);
	timer->deadline_ns = deadline_ns;
	/* [timer.1] relaxed: ordered by the lock; pairs timer.4, timer.5; upholds Timer!DueOnce. */
	wp_store_relaxed(&timer->armed, timers);
	put(timers, timer);
	is_first = timers->first == NULL || deadline_ns < timers->first->deadline_ns;
	if (is_first)
		timers->first = timer;
	if (is_first)
		/* [timer.2] relaxed: ordered by [timer.9]; pairs timer.8; upholds
		 * Timer!NoOversleep. The store is under the lock, because the later of two armers
		 * may have the earlier deadline. */
		wp_store_relaxed(&timers->earliest_ns, deadline_ns);
	wp_lock_release(&timers->lock);
	return is_first;
}

bool wp_timer_cancel(wp_timer *timer)
{
	wp_timers *timers;

	/* [timer.4] acquire; pairs timer.1, timer.6, timer.7, timer.12; upholds
	 * Timer!CancelIsFinal: the thread that fired it no longer touches it. */
	while ((timers = wp_load_acquire(&timer->armed)) != NULL) {
		bool was_armed, was_first = false;

		wp_lock_acquire(&timers->lock);
		/* [timer.5] relaxed: ordered by the lock; pairs timer.1, timer.6, timer.7,
		 * timer.12; upholds Timer!DueOnce: meanwhile the timer may have fired, and may be
		 * armed elsewhere. */
		was_armed = wp_load_relaxed(&timer->armed) == timers;
		if (was_armed) {
			was_first = timers->first == timer;
			take_off(timer);
			/* [timer.6] relaxed: ordered by the lock; pairs timer.4, timer.5; upholds
			 * Timer!DueOnce. */
			wp_store_relaxed(&timer->armed, NULL);
		}
		if (was_first) {
			find_first(timers);
			settle(timers);
		}
		wp_lock_release(&timers->lock);
		if (was_armed)
			return true;
	}
	return false;
}

/* Fires the first timer: takes it off its heap, then calls `due`. [the lock's holder | lock-free]
 */
static wp_task *fire(wp_timers *timers)
{
	wp_timer *timer = timers->first;
	wp_task *task;

	take_off(timer);
	find_first(timers);
	task = timer->due(timer);
	/* [timer.7] release; pairs timer.4, timer.5; upholds Timer!CancelIsFinal: this is the last
	 * access to the timer; its user may free its memory at once. */
	wp_store_release(&timer->armed, NULL);
	return task;
}

static bool is_due(wp_timer *timer, int64_t now_ns)
{
	return timer != NULL && timer->deadline_ns <= now_ns;
}

wp_task *wp_timers_due(wp_timers *timers, int64_t now_ns)
{
	wp_task *task = NULL;

	if (wp_timers_earliest(timers) > now_ns)
		return NULL;
	wp_lock_acquire(&timers->lock);
	while (task == NULL && is_due(timers->first, now_ns))
		task = fire(timers);
	settle(timers);
	wp_lock_release(&timers->lock);
	return task;
}

void wp_timers_clear(wp_timers *timers)
{
	wp_timer *timer;

	wp_lock_acquire(&timers->lock);
	while ((timer = timers->first) != NULL) {
		take_off(timer);
		find_first(timers);
		/* [timer.12] release; pairs timer.4, timer.5; upholds Timer!CancelIsFinal: as
		 * timer.7. */
		wp_store_release(&timer->armed, NULL);
	}
	settle(timers);
	wp_lock_release(&timers->lock);
}

bool wp_timers_nudge(wp_carrier *carrier)
{
	/* [timer.9] seq_cst fence; pairs carrier.6; upholds Timer!NoOversleep: the deadline is
	 * written before the word is read. */
	wp_fence_seq_cst();
	return wp__timers_end_sleep(carrier);
}

bool wp__timers_end_sleep(wp_carrier *carrier)
{
	uint32_t word, place;

	/* [timer.10] relaxed: ordered by [timer.9], or by [spare_carrier.5]; pairs carrier.1;
	 * upholds Timer!NoOversleep. */
	word = place = wp_load_relaxed(&carrier->word);
	/* [timer.11] acquire; pairs carrier.1, carrier.2, carrier.5, run_queues.1; upholds
	 * Timer!NoOversleep: there is one waker, which knows the place and the poller. The fence
	 * publishes what the carrier is woken for. */
	if (!wp__is_parked(word) || !wp_cas_acquire(&carrier->word, &word, WP_WAKING))
		return false;
	wp__carrier_wake(carrier, place);
	return true;
}
