/* SPDX-License-Identifier: Apache-2.0
 * semaphore.c - see semaphore.h. */
#include "sync/semaphore.h"

void wp_semaphore_init(wp_semaphore *semaphore, uint32_t permits)
{
	wp_init(&semaphore->word, permits * WP_SEMAPHORE_PERMIT);
	wp_init(&semaphore->lock.state, 0);
	semaphore->line.first = semaphore->line.last = NULL;
}

uint32_t wp_semaphore_permits(wp_semaphore *semaphore)
{
	/* [semaphore.6] relaxed: a word that is stale costs a wrong number, never a permit; pairs
	 * semaphore.1, semaphore.3; upholds Semaphore!PermitBalance. */
	return wp_load_relaxed(&semaphore->word) / WP_SEMAPHORE_PERMIT;
}

/* Takes the permits. If it cannot, returns false, and *word is the value that did not allow it. */
static bool take(wp_semaphore *semaphore, uint32_t permits, uint32_t *word)
{
	/* [semaphore.7] relaxed: a word that is stale costs a failed attempt at semaphore.1 or
	 * semaphore.2, or a wait in the queue; pairs semaphore.3; upholds Semaphore!NoIdlePermit.
	 */
	*word = wp_load_relaxed(&semaphore->word);
	while (!(*word & WP_SEMAPHORE_QUEUED) && *word / WP_SEMAPHORE_PERMIT >= permits) {
		/* [semaphore.1] acquire; pairs semaphore.3, semaphore.4, semaphore.5, semaphore.6;
		 * upholds Semaphore!PermitBalance: the taker sees what the releasers of these
		 * permits wrote. */
		if (wp_cas_acquire(&semaphore->word, word, *word - permits * WP_SEMAPHORE_PERMIT))
			return true;
	}
	return false;
}

bool wp_semaphore_try_acquire(wp_semaphore *semaphore, uint32_t permits)
{
	uint32_t word;

	return take(semaphore, permits, &word);
}

/* Takes the permits, or sets QUEUED. Returns true if it took the permits. [under the queue's lock]
 */
static bool take_or_mark(wp_semaphore *semaphore, uint32_t permits)
{
	uint32_t word;

	while (!take(semaphore, permits, &word)) {
		/* [semaphore.2] relaxed: atomicity is enough, because this step takes no permit;
		 * pairs semaphore.3, semaphore.8; upholds Semaphore!NoIdlePermit: a releaser sees
		 * that a thread waits. */
		if (word & WP_SEMAPHORE_QUEUED ||
		    wp_cas_relaxed(&semaphore->word, &word, word | WP_SEMAPHORE_QUEUED))
			return false;
	}
	return true;
}

/* The `leave` of a waiter (wait_queue.h): takes the waiter out of the queue, or releases the
 * permits that it was granted. */
static void leave(wp_waiter *waiter)
{
	wp_semaphore *semaphore = waiter->object;

	if (!wp__semaphore_cancel(semaphore, waiter))
		wp_semaphore_release(semaphore, waiter->amount);
}

bool wp__semaphore_begin(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter)
{
	bool is_taken;

	if (wp_semaphore_try_acquire(semaphore, permits))
		return true;
	waiter->amount = permits;
	wp__waiter_stands(waiter, leave, semaphore);
	wp_lock_acquire(&semaphore->lock);
	is_taken = take_or_mark(semaphore, permits);
	if (!is_taken)
		wp__wait_queue_add(&semaphore->line, waiter);
	wp_lock_release(&semaphore->lock);
	if (is_taken)
		wp__waiter_over(waiter);
	return is_taken;
}

/* Adds `more` permits and serves the queue in order. Returns false if there would be too many
 * permits. QUEUED must be set. [under the queue's lock, which this function releases] */
static bool serve(wp_semaphore *semaphore, uint32_t more)
{
	/* [semaphore.5] relaxed: ordered by the queue's lock, because while QUEUED is set no other
	 * thread changes the word; pairs semaphore.1; upholds Semaphore!PermitBalance. */
	uint32_t word = wp_load_relaxed(&semaphore->word);
	uint32_t permits = word / WP_SEMAPHORE_PERMIT;
	wp_waiter *first = semaphore->line.first, *served = NULL, **end = &served;

	if (more > WP_SEMAPHORE_PERMITS_MAX - permits) {
		wp_lock_release(&semaphore->lock);
		return false;
	}
	for (permits += more; first != NULL && permits >= first->amount;
	     first = semaphore->line.first) {
		permits -= first->amount;
		wp__wait_queue_remove(first);
		*end = first;
		end = &first->next;
	}
	/* [semaphore.4] acq_rel; pairs semaphore.1, semaphore.3; upholds Semaphore!PermitBalance:
	 * the served threads, and later takers of the rest, see what all releasers of these permits
	 * wrote. */
	wp_exchange_acq_rel(&semaphore->word, permits * WP_SEMAPHORE_PERMIT +
						      (first != NULL ? WP_SEMAPHORE_QUEUED : 0));
	wp_lock_release(&semaphore->lock);
	wp__waiter_grant_all(served);
	return true;
}

int wp_semaphore_release(wp_semaphore *semaphore, uint32_t permits)
{
	/* [semaphore.8] relaxed: a word that is stale costs a failed attempt at semaphore.3, or an
	 * acquisition of the queue's lock; pairs semaphore.2; upholds Semaphore!NoIdlePermit. */
	uint32_t word = wp_load_relaxed(&semaphore->word);

	for (;;) {
		if (word & WP_SEMAPHORE_QUEUED) {
			wp_lock_acquire(&semaphore->lock);
			if (semaphore->line.first != NULL)
				return serve(semaphore, permits) ? WP_OK : WP_FORBIDDEN;
			wp_lock_release(&semaphore->lock);
			word &= ~(uint32_t)WP_SEMAPHORE_QUEUED; /* it is not set now */
		}
		if (permits > WP_SEMAPHORE_PERMITS_MAX - word / WP_SEMAPHORE_PERMIT)
			return WP_FORBIDDEN;
		/* [semaphore.3] release; pairs semaphore.1, semaphore.2, semaphore.4, semaphore.6,
		 * semaphore.7; upholds Semaphore!PermitBalance: hands over what the releaser wrote.
		 */
		if (wp_cas_release(&semaphore->word, &word, word + permits * WP_SEMAPHORE_PERMIT))
			return WP_OK;
	}
}

bool wp__semaphore_cancel(wp_semaphore *semaphore, wp_waiter *waiter)
{
	bool is_in_line;

	wp_lock_acquire(&semaphore->lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line) {
		wp__wait_queue_remove(waiter);
		wp__waiter_over(waiter);
		serve(semaphore, 0);
		return true;
	}
	wp_lock_release(&semaphore->lock);
	wp__waiter_await(waiter);
	wp__waiter_over(waiter);
	return false;
}

int wp__semaphore_acquire(wp_semaphore *semaphore, uint32_t permits, wp_waiter *waiter,
			  int64_t deadline_ns)
{
	int rc;

	if (wp__semaphore_begin(semaphore, permits, waiter))
		return WP_OK;
	do {
		rc = wp__waiter_park(waiter, deadline_ns);
		if (rc != WP_OK)
			return wp__semaphore_cancel(semaphore, waiter) ? rc : WP_OK;
	} while (!wp__waiter_check(&semaphore->lock, waiter));
	return WP_OK;
}

int wp_semaphore_acquire_until(wp_semaphore *semaphore, uint32_t permits, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_SEMAPHORE);
	return wp__semaphore_acquire(semaphore, permits, &waiter, deadline_ns);
}
