/* SPDX-License-Identifier: Apache-2.0
 * guard.h - lets one poller block in the kernel without ever missing queued work: an eventcount for
 * one waiter.
 *
 *   poller                         producer (any number)
 *   [guard.1] asleep := 1               push work              (the caller's queue)
 *   [guard.2] fence                [guard.4] fence
 *   [guard.3] work? yes: leave     [guard.5] asleep = 0? nothing to do
 *             no: block            [guard.6] claim the wake-up, then wake
 *   [guard.7] exchange(asleep, 0)            (a kernel wake orders nothing)
 *
 *   Usage    poller:    wp_guard_announce(&guard);
 *                       if (!has_work(queue))
 *                               block();               eventfd, a permit
 *                       wp_guard_leave(&guard);
 *            producer:  push(queue, work);
 *                       if (wp_guard_signal(&guard))
 *                               wake();
 *
 * Two pairs of fences. Symmetric: seq_cst on both sides. Asymmetric: light in guard.4, heavy in
 * guard.2. The heavy fence costs microseconds for each sleep, and the light one saves about 2 ns
 * for each submission: the pair is for pollers that sleep rarely.
 *
 * Two kinds of signal. Sticky (eventfd, a permit): a signal before the block is kept, so guard.3
 * needs no lock. Rendezvous (a condition): the poller reads the promise again ([guard.12]) and
 * waits under the same lock under which a producer claims the wake-up and signals.
 *
 * Guards serve threads of one process: futex and membarrier are private here.
 *
 * Why it works  The two fences are totally ordered, so one side reads the other's store: either the
 *               poller sees the work, or the producer sees the promise to sleep. guard.6 is an
 *               exchange, so one producer pays for the wake. guard.7 is an exchange too: it ends
 *               promise and wake in one step, and acquires what guard.6 released.
 * Not promised  That a wake finds work: the poller may have found it itself (one redundant wake,
 *               harmless).
 * Prior art     The eventcount of folly and ck_ec, reduced to one waiter and one bit.
 * Spec          specs/wakeup/Guard.tla: NoLostWakeup, WakeIsClaimed, Served.
 * Evidence      make check-specs T=Guard, make stress T=guard; twin guard_no_fence shows what
 *               guard.2 and guard.4 prevent. */
#ifndef WP_GUARD_H
#define WP_GUARD_H

#include "base/futex.h"
#include "base/order.h"

/* Which pair of fences a guard uses; fixed at init. */
enum wp_guard_fences { WP_GUARD_SYMMETRIC, WP_GUARD_ASYMMETRIC };

/* The longest block of a poller after its heavy fence has failed: it may then miss a wake-up, so it
 * checks again. A blocked poller may then add 1 ms to a submission, at a thousand system calls a
 * second. */
/* cdef: begin */
#define WP_GUARD_NAP_NS 1000000
/* cdef: end */

/* 8 bytes. asleep is 1 while the poller has promised to block; guard.1, guard.6 and guard.7 write
 * it. fences is written at init. */
typedef struct wp_guard {
	wp_atomic(uint32_t) asleep;
	uint32_t fences;
} wp_guard;

/* WP_OK, or WP_UNSUPPORTED: the system has no membarrier, and the guard became symmetric.
 * [before it is shared | a system call if asymmetric] */
WP_API int wp_guard_init(wp_guard *guard, enum wp_guard_fences fences);

/* cdef: begin */
/* Promises to sleep. Afterwards check for work: leave if there is some, else block and then leave.
 * Returns WP_OK, or WP_UNSUPPORTED if the heavy fence failed: then block at most WP_GUARD_NAP_NS. A
 * producer that failed to wake the poller may call it too, which makes the wake owed again, at
 * worst once more than needed. [the poller | a system call if asymmetric] */
WP_API int wp_guard_announce(wp_guard *guard);

/* Takes the promise back, after a block or instead of it. False if a producer has claimed the
 * wake-up: its signal is here or on its way. [the poller | wait-free] */
WP_API_INLINE bool wp_guard_leave(wp_guard *guard)
{
	/* [guard.7] acquire; pairs guard.6, guard.11; upholds Guard!NoLostWakeup: what was pushed
	 * before the claim is seen now. */
	return wp_exchange_acquire(&guard->asleep, 0) == 1;
}
/* cdef: end */

/* The fence between the work and the check of the promise. [any thread | wait-free] */
WP_INLINE void wp__guard_producer_fence(const wp_guard *guard)
{
	if (guard->fences == WP_GUARD_ASYMMETRIC)
		/* [guard.8] light; pairs guard.9; upholds Guard!NoLostWakeup: the poller's heavy
		 * fence acts as one here as well. */
		wp_fence_light();
	else
		/* [guard.4] seq_cst fence; pairs guard.2; upholds Guard!NoLostWakeup: the work is
		 * ordered before the promise. */
		wp_fence_seq_cst();
}

/* cdef: begin */
/* Call after a push. True if the caller owes the poller one wake-up. [any thread | wait-free] */
WP_API_INLINE bool wp_guard_signal(wp_guard *guard)
{
	wp__guard_producer_fence(guard);
	/* [guard.5] relaxed: ordered by guard.4 or guard.8; pairs guard.1; upholds
	 * Guard!NoLostWakeup. A poller that is awake checks the queue by itself. */
	if (wp_load_relaxed(&guard->asleep) == 0)
		return false;
	/* [guard.6] release; pairs guard.7; upholds Guard!WakeIsClaimed: one producer pays. It is a
	 * release because the light fence does not release, and the wake itself orders nothing. */
	return wp_exchange_release(&guard->asleep, 0) == 1;
}
/* cdef: end */

/* A guard with its own place to block, for signals that are not sticky. 16 bytes; the type of each
 * part says which thread writes it. */
typedef struct wp_rendezvous {
	wp_guard guard;
	wp_lock lock;
	wp_cond cond;
} wp_rendezvous;

/* Makes a rendezvous with an awake poller; returns what wp_guard_init does.
 * [before it is shared | a system call if asymmetric] */
WP_API int wp_rendezvous_init(wp_rendezvous *rendezvous, enum wp_guard_fences fences);

/* cdef: begin */
/* After wp_guard_announce and a check that found no work: blocks until a signal or the deadline,
 * then leaves. WP_OK if a producer claimed the wake, or WP_TIMEOUT. [the poller | blocks] */
WP_API int wp_rendezvous_block(wp_rendezvous *rendezvous, int64_t deadline_ns);

/* The same, but returns WP_INTERRUPTED when a handler that was installed without SA_RESTART ran
 * during the block. Then block again (which returns at once if the wake was claimed meanwhile) or
 * leave. [the poller | blocks] */
WP_API int wp_rendezvous_block_interruptible(wp_rendezvous *rendezvous, int64_t deadline_ns);

/* Call after a push. True if this call woke the poller.
 * [any thread | wait-free if the poller is awake, else takes the lock] */
WP_API bool wp_rendezvous_signal(wp_rendezvous *rendezvous);
/* cdef: end */

#endif
