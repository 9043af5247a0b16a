/* SPDX-License-Identifier: Apache-2.0
 * latch.c - the list of waiters in the latch's word. See latch.h. */
#include "thread/latch.h"

/* Locks the list and returns it. If the latch is open, returns WP_LATCH_OPEN and locks nothing. */
static uintptr_t lock(wp_latch *latch)
{
	unsigned turns = 0;

	for (;;) {
		/* [latch.6] relaxed: a word that is stale costs a turn of the loop, as latch.2 and
		 * latch.3 look again; pairs latch.4, latch.5; upholds Latch!NoLostWaiter. */
		uintptr_t word = wp_load_relaxed(&latch->word);

		if (word == WP_LATCH_OPEN && wp_latch_is_open(latch))
			return word;
		/* [latch.3] acquire; pairs latch.5; upholds Latch!NoLostWaiter: the list is as its
		 * last holder left it. */
		if (!(word & WP_LATCH_LOCKED) &&
		    wp_cas_acquire(&latch->word, &word, word | WP_LATCH_LOCKED))
			return word;
		wp_wait_a_turn(&turns);
	}
}

static void unlock(wp_latch *latch, const wp_waiter *first)
{
	/* [latch.5] release; pairs latch.1, latch.3, latch.6; upholds Latch!NoLostWaiter: as
	 * latch.3. */
	wp_store_release(&latch->word, (uintptr_t)first);
}

void wp__latch_open_queued(wp_latch *latch)
{
	wp_waiter *waiter;
	uintptr_t word = lock(latch);

	if (word == WP_LATCH_OPEN)
		return; /* opening it twice is an error, and harmless */
	waiter = (wp_waiter *)word;
	/* [latch.4] release; pairs latch.2, latch.6; upholds Latch!UntouchedAfterOpen: this step
	 * publishes the event, with all that the opener did before, and unlocks the list. */
	wp_store_release(&latch->word, WP_LATCH_OPEN);
	while (waiter != NULL && waiter->next != NULL)
		waiter = waiter->next;
	while (waiter != NULL) { /* the oldest first */
		wp_waiter *prev = waiter->prev;

		wp__waiter_grant(waiter);
		waiter = prev;
	}
}

/* The `leave` of a waiter (wait_queue.h). An event is not given back. If the waiter was granted,
 * the latch may be gone. */
static void leave(wp_waiter *waiter)
{
	if (!wp__waiter_is_granted(waiter))
		wp__latch_cancel(waiter->object, waiter);
}

bool wp__latch_begin(wp_latch *latch, wp_waiter *waiter)
{
	uintptr_t word;

	wp__waiter_stands(waiter, leave, latch);
	word = lock(latch);
	if (word == WP_LATCH_OPEN) {
		wp__waiter_over(waiter);
		return true;
	}
	waiter->prev = NULL;
	waiter->next = (wp_waiter *)word;
	if (waiter->next != NULL)
		waiter->next->prev = waiter;
	unlock(latch, waiter);
	return false;
}

bool wp__latch_check(wp_latch *latch, wp_waiter *waiter)
{
	uintptr_t word;

	if (wp__waiter_is_granted(waiter)) {
		wp__waiter_over(waiter);
		return true;
	}
	if (waiter->thread == NULL)
		return false;
	word = lock(latch);
	if (word == WP_LATCH_OPEN) {
		wp__waiter_await(waiter);
		wp__waiter_over(waiter);
		return true;
	}
	wp__waiter_renew(waiter);
	unlock(latch, (wp_waiter *)word);
	return false;
}

bool wp__latch_cancel(wp_latch *latch, wp_waiter *waiter)
{
	uintptr_t word = lock(latch);

	wp__waiter_over(waiter);
	if (word == WP_LATCH_OPEN) {
		wp__waiter_await(waiter);
		return false;
	}
	if (waiter->next != NULL)
		waiter->next->prev = waiter->prev;
	if (waiter->prev != NULL)
		waiter->prev->next = waiter->next;
	else
		word = (uintptr_t)waiter->next;
	unlock(latch, (wp_waiter *)word);
	return true;
}

int wp__latch_wait(wp_latch *latch, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc;

	if (wp__latch_begin(latch, waiter))
		return WP_OK;
	do {
		rc = wp__waiter_park(waiter, deadline_ns);
		if (rc != WP_OK)
			return wp__latch_cancel(latch, waiter) ? rc : WP_OK;
	} while (!wp__latch_check(latch, waiter));
	return WP_OK;
}

int wp_latch_wait_until(wp_latch *latch, int64_t deadline_ns)
{
	return wp__latch_wait_for(latch, deadline_ns, WP_WAIT_LATCH, 0);
}

int wp__latch_wait_for(wp_latch *latch, int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, why);
	waiter.amount = on;
	return wp__latch_wait(latch, &waiter, deadline_ns);
}
