/* SPDX-License-Identifier: Apache-2.0
 * guard.c - the functions of the guard that are called rarely: init, the announcement of a sleep,
 * and the rendezvous. See guard.h. */
#include "wakeup/guard.h"

#include "base/error.h"

int wp_guard_init(wp_guard *guard, enum wp_guard_fences fences)
{
	int rc = WP_OK;

	if (fences == WP_GUARD_ASYMMETRIC && !wp_fence_heavy_register()) {
		fences = WP_GUARD_SYMMETRIC;
		rc = WP_UNSUPPORTED;
	}
	wp_init(&guard->asleep, 0);
	guard->fences = fences;
	return rc;
}

/* The fence between the announcement and the check for work.
 * [the poller | a system call if asymmetric] */
static int poller_fence(const wp_guard *guard)
{
	if (guard->fences == WP_GUARD_SYMMETRIC) {
		/* [guard.2] seq_cst fence; pairs guard.4; upholds Guard!NoLostWakeup: the store to
		 * `asleep` is ordered before the check for work. */
		wp_fence_seq_cst();
		return WP_OK;
	}
	/* [guard.9] heavy; pairs guard.8; upholds Guard!NoLostWakeup: this thread and every running
	 * producer execute a full fence. */
	return wp_fence_heavy() ? WP_OK : WP_UNSUPPORTED;
}

int wp_guard_announce(wp_guard *guard)
{
	/* [guard.1] relaxed: ordered by guard.2 or guard.9; pairs guard.5, guard.10; upholds
	 * Guard!NoLostWakeup. */
	wp_store_relaxed(&guard->asleep, 1);
	return poller_fence(guard);
}

int wp_rendezvous_init(wp_rendezvous *rendezvous, enum wp_guard_fences fences)
{
	wp_init(&rendezvous->lock.state, 0);
	wp_init(&rendezvous->cond.signals, 0);
	return wp_guard_init(&rendezvous->guard, fences);
}

int wp_rendezvous_block_interruptible(wp_rendezvous *rendezvous, int64_t deadline_ns)
{
	int rc = WP_OK;

	wp_lock_acquire(&rendezvous->lock);
	/* [guard.12] relaxed: ordered by the lock, under which the claim is made; pairs guard.11;
	 * upholds Guard!NoLostWakeup: the flag is read again after each wait, so a spurious wakeup
	 * does no harm. */
	while (rc == WP_OK && wp_load_relaxed(&rendezvous->guard.asleep) == 1)
		rc = wp_cond_wait(&rendezvous->cond, &rendezvous->lock, deadline_ns);
	if (rc != WP_INTERRUPTED && !wp_guard_leave(&rendezvous->guard))
		rc = WP_OK; /* a producer claimed the wakeup just when the deadline passed */
	wp_lock_release(&rendezvous->lock);
	return rc;
}

int wp_rendezvous_block(wp_rendezvous *rendezvous, int64_t deadline_ns)
{
	int rc;

	do
		rc = wp_rendezvous_block_interruptible(rendezvous, deadline_ns);
	while (rc == WP_INTERRUPTED);
	return rc;
}

bool wp_rendezvous_signal(wp_rendezvous *rendezvous)
{
	bool claimed;

	wp__guard_producer_fence(&rendezvous->guard);
	/* [guard.10] relaxed: ordered by guard.4 or guard.8; pairs guard.1; upholds
	 * Guard!NoLostWakeup. If the poller is awake, no lock is needed. */
	if (wp_load_relaxed(&rendezvous->guard.asleep) == 0)
		return false;
	wp_lock_acquire(&rendezvous->lock);
	/* [guard.11] release; pairs guard.7, guard.12; upholds Guard!WakeIsClaimed: as guard.6, but
	 * under the lock. */
	claimed = wp_exchange_release(&rendezvous->guard.asleep, 0) == 1;
	if (claimed)
		wp_cond_signal(&rendezvous->cond);
	wp_lock_release(&rendezvous->lock);
	return claimed;
}
