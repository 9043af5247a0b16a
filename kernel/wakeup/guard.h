/* SPDX-License-Identifier: Apache-2.0
 * guard.h - lets one thread sleep while there is no work, and wakes it when work is pushed. The
 * usual name is eventcount; this one serves a single sleeper.
 *
 * The sleeper is called the poller. It takes work from a queue, and when the queue is empty it
 * blocks, for example in a read of an eventfd. The threads that push work into the queue are called
 * producers. Without a guard a wakeup can be lost: the poller finds the queue empty, a producer
 * pushes work and sees no sleeper, and only then does the poller block.
 *
 * The guard is a flag, `asleep`, and two fences. The poller announces its sleep: it sets the flag,
 * and then checks the queue once more. A producer pushes its work and then reads the flag. If the
 * flag is set, the producer clears it. The producer has then claimed the wakeup, which means that
 * it must wake the poller. The labels in brackets stand at the same operations in the code; guard.3
 * is in the code of the caller.
 *
 *   poller                                  producer (any number of threads)
 *   announce:                               push work, into the caller's queue
 *     [guard.1] asleep := 1                 signal:
 *     [guard.2] fence                         [guard.4] fence
 *   [guard.3] is there work? no: block        [guard.5] is asleep 0? yes: done
 *   leave:                                    [guard.6] exchange(asleep, 0) returned 1?
 *     [guard.7] exchange(asleep, 0)                     yes: wake the poller
 *
 *   Usage    poller:    wp_guard_announce(&guard);
 *                       if (!has_work(queue))
 *                               block();               for example, read an eventfd
 *                       wp_guard_leave(&guard);
 *            producer:  push(queue, work);
 *                       if (wp_guard_signal(&guard))
 *                               wake();                for example, write to the eventfd
 *
 * Fences        A guard uses one of two pairs of fences. In the symmetric pair both sides execute a
 *               seq_cst fence (guard.2, guard.4). In the asymmetric pair the poller executes a
 *               heavy fence (guard.9) in place of guard.2, and each producer a light fence
 *               (guard.8) in place of guard.4. The heavy fence is the system call membarrier(2),
 *               which makes every running thread of the process execute a full fence. The light
 *               fence restrains only the compiler. The heavy fence costs microseconds for each
 *               sleep, and the light fence saves about 2 ns for each push, so the asymmetric pair
 *               is for pollers that sleep rarely.
 * Wakeups       A wakeup may come before the poller blocks. A sticky wakeup is then kept, and the
 *               block ends at once. A write to an eventfd is sticky, and so is the permit of a
 *               parker (parker.h). For sticky wakeups use wp_guard. The signal of a condition
 *               variable is not sticky: it is lost if no thread waits. For such signals use
 *               wp_rendezvous, which is a guard with a lock and a condition variable. Its poller
 *               takes the lock, and waits only if `asleep` is still 1 (guard.12). Its producer
 *               takes the same lock, claims the wakeup (guard.11) and signals.
 * Why it works  Each side stores, executes its fence, and then loads what the other side stores.
 *               The fences are totally ordered, so at least one side reads the other's store: the
 *               poller sees the work, or the producer sees the flag. guard.6 is an exchange, so
 *               only one producer claims the wakeup. guard.7 is an exchange too: in one step it
 *               withdraws the announcement and learns whether a producer has claimed the wakeup. A
 *               wakeup by the operating system orders no memory accesses. Therefore guard.6 is a
 *               release and guard.7 an acquire, and the poller sees what was pushed before the
 *               claim.
 * Not promised  A woken poller may find no work, because it may have taken the work before the
 *               wakeup came. Such a wakeup is redundant and harmless. The threads must be of one
 *               process: futex and membarrier are called in the forms that serve a single process.
 *               In a rendezvous, a producer may have to wait long for the lock: wp_lock (futex.h)
 *               lets newcomers take it before a thread that waits for it.
 * Prior art     folly's EventCount and ck_ec serve any number of sleepers, and have a counter. For
 *               one sleeper, one bit is enough.
 * Spec          specs/wakeup/Guard.tla has three claims. NoLostWakeup: when the poller sleeps and
 *               work waits, some producer is about to look at the flag or to wake the poller. If
 *               the heavy fence has failed, the sleep may instead end by itself, after 1 ms at
 *               most. WakeIsClaimed: for each announcement one producer at most claims the wakeup,
 *               and leave reports whether one did. Served: queued work is taken eventually. For a
 *               rendezvous, Served assumes that each producer gets the lock eventually.
 * Evidence      make check-specs T=Guard checks the spec, and make stress T=guard runs this code.
 *               Each of them also runs the twin guard_no_fence, a copy of the spec or of the code
 *               without guard.2 and guard.4, and must find a lost wakeup in it.
 * Comments      A tag such as [any thread | wait-free] says who may call a function, and whether
 *               the call may block. A comment such as "[guard.7] acquire; pairs guard.6; upholds
 *               Guard!NoLostWakeup" belongs to an atomic operation. It gives the operation's label;
 *               its memory order; after "pairs", the label of its counterpart in another thread;
 *               and after "upholds", the claim of Guard.tla that needs the operation. */
#ifndef WP_GUARD_H
#define WP_GUARD_H

#include "base/futex.h"
#include "base/order.h"

/* The pair of fences that a guard uses. wp_guard_init sets it once. */
enum wp_guard_fences { WP_GUARD_SYMMETRIC, WP_GUARD_ASYMMETRIC };

/* If the heavy fence fails, a wakeup may be lost. The poller must then block for no longer than
 * this time before it checks its queue again. So new work may wait for 1 ms, and a poller without
 * work makes a thousand system calls each second. */
/* cdef: begin */
#define WP_GUARD_NAP_NS 1000000
/* cdef: end */

/* 8 bytes. `asleep` is 1 from the announcement until the poller leaves or a producer claims the
 * wakeup: guard.1 sets it, and guard.6, guard.7 and guard.11 clear it. `fences` is written only by
 * wp_guard_init. */
typedef struct wp_guard {
	wp_atomic(uint32_t) asleep;
	uint32_t fences;
} wp_guard;

/* Makes a guard whose poller is awake. Returns WP_OK, or WP_UNSUPPORTED if the caller wants
 * asymmetric fences and the system has no membarrier; the guard then uses symmetric fences.
 * [one thread, before the guard is shared | a system call if asymmetric] */
WP_API int wp_guard_init(wp_guard *guard, enum wp_guard_fences fences);

/* cdef: begin */
/* Announces that the poller is about to block. The poller must then check its queue. If there is
 * work, it calls wp_guard_leave; if there is none, it blocks, and calls wp_guard_leave afterwards
 * (wp_rendezvous_block does both). Returns WP_OK, or WP_UNSUPPORTED if the heavy fence failed;
 * the poller may then block for WP_GUARD_NAP_NS at most.
 * A producer may call this function too, if it has claimed a wakeup and then failed to send it. The
 * call sets the flag again, so that the next producer claims the wakeup and sends it. At worst the
 * poller gets one redundant wakeup.
 * [the poller, or a producer that failed to send a wakeup | a system call if asymmetric] */
WP_API int wp_guard_announce(wp_guard *guard);

/* Withdraws the announcement; the poller calls this after a block, or instead of one. Returns false
 * if a producer has claimed the wakeup. That producer has sent the wakeup, or is about to send it.
 * [the poller | wait-free] */
WP_API_INLINE bool wp_guard_leave(wp_guard *guard)
{
	/* [guard.7] acquire; pairs guard.6, guard.11; upholds Guard!NoLostWakeup: the poller sees
	 * what was pushed before the claim. */
	return wp_exchange_acquire(&guard->asleep, 0) == 1;
}
/* cdef: end */

/* The fence between the push of the work and the load of `asleep`. [any thread | wait-free] */
WP_INLINE void wp__guard_producer_fence(const wp_guard *guard)
{
	if (guard->fences == WP_GUARD_ASYMMETRIC)
		/* [guard.8] light; pairs guard.9; upholds Guard!NoLostWakeup: the poller's heavy
		 * fence makes this thread execute a full fence too. */
		wp_fence_light();
	else
		/* [guard.4] seq_cst fence; pairs guard.2; upholds Guard!NoLostWakeup: the push of
		 * the work is ordered before the load of `asleep`. */
		wp_fence_seq_cst();
}

/* cdef: begin */
/* A producer calls this after a push. Returns true if the caller has claimed the wakeup, and so
 * must wake the poller. [any thread | wait-free] */
WP_API_INLINE bool wp_guard_signal(wp_guard *guard)
{
	wp__guard_producer_fence(guard);
	/* [guard.5] relaxed: ordered by guard.4 or guard.8; pairs guard.1; upholds
	 * Guard!NoLostWakeup. A poller that is awake checks its queue without a wakeup. */
	if (wp_load_relaxed(&guard->asleep) == 0)
		return false;
	/* [guard.6] release; pairs guard.7; upholds Guard!WakeIsClaimed: only one producer reads 1.
	 * It is a release so that the poller sees the work: neither the light fence nor a wakeup by
	 * the operating system releases what this thread wrote. */
	return wp_exchange_release(&guard->asleep, 0) == 1;
}
/* cdef: end */

/* A guard with its own lock and condition variable, for wakeups that are not sticky. 16 bytes. The
 * comments of wp_guard, wp_lock and wp_cond say which threads write these fields. */
typedef struct wp_rendezvous {
	wp_guard guard;
	wp_lock lock;
	wp_cond cond;
} wp_rendezvous;

/* Makes a rendezvous whose poller is awake. Returns what wp_guard_init returns.
 * [one thread, before the rendezvous is shared | a system call if asymmetric] */
WP_API int wp_rendezvous_init(wp_rendezvous *rendezvous, enum wp_guard_fences fences);

/* cdef: begin */
/* The poller calls this after it has called wp_guard_announce and has found no work. Blocks until a
 * producer claims the wakeup, or until deadline_ns (a time of wp_clock_ns), and then withdraws the
 * announcement, in place of wp_guard_leave. Returns WP_OK if a producer claimed the wakeup, else
 * WP_TIMEOUT. [the poller | blocks] */
WP_API int wp_rendezvous_block(wp_rendezvous *rendezvous, int64_t deadline_ns);

/* Like wp_rendezvous_block, but returns WP_INTERRUPTED if a handler of a POSIX signal ran during
 * the block and was installed without SA_RESTART. The announcement then remains: the caller must
 * block again, or call wp_guard_leave. The new block returns at once if a producer has claimed the
 * wakeup in the meantime. [the poller | blocks] */
WP_API int wp_rendezvous_block_interruptible(wp_rendezvous *rendezvous, int64_t deadline_ns);

/* A producer calls this after a push. Wakes the poller if it has announced its sleep, and returns
 * true if this call woke it.
 * [any thread | wait-free if the poller is awake; otherwise takes the lock] */
WP_API bool wp_rendezvous_signal(wp_rendezvous *rendezvous);
/* cdef: end */

#endif
