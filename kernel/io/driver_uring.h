/* SPDX-License-Identifier: Apache-2.0
 * driver_uring.h - operations on files: threads ask, the poller of their home gives them to
 * io_uring.
 *
 *   caller, on any carrier                   poller of its home, each turn (driver_epoll.c)
 *   lock; over? refused                      its event came: what has ended:
 *         else at the end of the list; [file_queue.1]  lock; ended; unlock; open its latch, unless
 *         listed
 *   unlock; nudge that carrier (timer.h)     [file_queue.2] something is asked:
 *   wait for its latch                                 lock; one off the list; unlock
 *   too late: lock; ended? no more to do               ended: open its latch
 *         else cancelled; listed; [file_queue.1]       begun: tell the system to end it
 *   unlock; nudge; wait for its latch                  else: give it to the system, or, cancelled, open
 *                                            [file_queue.2] once more before it blocks
 *
 * Why it works  A ring has one user, the poller of a carrier, which that alone runs: so it needs no
 *               lock, and what ends is told at home. Each end writes to the event that
 *               is also the poller's wakeup: one epoll to wait at. Whoever asks from elsewhere
 *               ends the sleep as one who has armed a timer: either the poller sees what is
 *               asked before it blocks, or its carrier's word is seen parked [timer.9] [carrier.6].
 *               The system writes into the caller's memory until the operation has ended. So
 *               whoever is late, or interrupted, cancels it and waits on; the latch is the last
 *               that is touched of an operation, which may lie on a stack. Its one link is in use
 *               while it is listed, so what ends meanwhile is let go by who takes it off.
 *               At its end the poller ends what the system has and waits for it: only then does a
 *               close hand back who waits.
 * Not promised  That a cancelled operation ends soon: a disk's does when the disk has answered.
 * Spec          specs/io/FileQueue.tla: OpNotLost, BufferOutlivesOp, OpIsAlive, CancelNotLost,
 *               IoCompletionAtHome, CancelEnds.
 * Evidence      make check-specs T=FileQueue, make stress T=file_queue, tests/io/test_file.py. */
#ifndef WP_POLLER_URING_H
#define WP_POLLER_URING_H

#include <errno.h>

#include "base/counters.h"
#include "sched/timer.h"
#include "thread/latch.h"

struct io_uring;

enum wp_uring_what { WP_URING_OPEN, WP_URING_READ, WP_URING_WRITE, WP_URING_SYNC };

/* 64 bytes, its caller's. next, is_*, has_ended, result: under the ring's lock; the rest: its
 * caller, before it asks. done: open when the ring has done with it; result: then its caller's. */
typedef struct wp_uring_op {
	struct wp_uring_op *next; /* asked after it */
	wp_latch done;
	const void *at;  /* bytes, or a path */
	uint64_t offset; /* all ones: the file's own */
	uint32_t size, flags;
	int fd;
	int32_t result; /* or -errno */
	uint8_t what;
	bool is_listed, is_begun, is_cancelled, has_ended;
} wp_uring_op;

/* asked: file_queue.1, file_queue.2; first, last, is_over: under the lock; the rest: the poller. */
typedef struct wp_uring {
	_Alignas(WP_LINE) wp_lock lock;
	wp_atomic(uint32_t) asked; /* 1: the list is not empty */
	wp_uring_op *first, *last;
	bool is_over;
	struct io_uring *ring;
	uint32_t inside; /* what the system has */
	wp_atomic(uint64_t) begun; /* operations that it was given; ever grows */
} wp_uring;

/* Its results signal `event`. NULL, and *why: a text. [any thread | system calls] */
wp_uring *wp__uring_new(int event, const char **why);
/* [when its poller has ended, or did not begin | system calls] NULL: nothing. */
void wp__uring_free(wp_uring *uring);

/* Takes what has ended, if it `is_told` of an event, and gives the system what is asked. True:
 * there was something. [the poller, its carrier RUNNING | pushes] */
bool wp__uring_turn(wp_uring *uring, bool is_told);
/* It must not block: there is something to be given to the system. [the poller | wait-free] */
bool wp__uring_is_wanted(wp_uring *uring);
/* No operation begins any more; waits for those that the system has. [the poller | blocks] */
void wp__uring_end(wp_uring *uring);

/* [before it is shared | wait-free] */
WP_INLINE void wp__uring_init(wp_uring *uring)
{
	wp_init(&uring->lock.state, 0);
	wp_init(&uring->asked, 0);
	uring->first = uring->last = NULL;
	uring->is_over = false;
	uring->ring = NULL;
	uring->inside = 0;
	wp_init(&uring->begun, 0);
}

/* The list is empty, or not. [under the lock] */
WP_INLINE void wp__uring_set_asked(wp_uring *uring, uint32_t asked)
{
	/* [file_queue.1] relaxed: ordered by [timer.9] before a look at its carrier's word, and
	 * what is asked by the lock; pairs file_queue.2; upholds FileQueue!OpNotLost. */
	wp_store_relaxed(&uring->asked, asked);
}

/* [the poller | wait-free] */
WP_INLINE bool wp__uring_is_asked(wp_uring *uring)
{
	/* [file_queue.2] relaxed: ordered by [carrier.6] before it blocks; elsewhere stale costs a
	 * turn; pairs file_queue.1; upholds FileQueue!OpNotLost. */
	return wp_load_relaxed(&uring->asked) != 0;
}

/* The system is given one more: the ring has one user. [the poller] */
WP_INLINE void wp__uring_enter(wp_uring *uring)
{
	uring->inside++;
}

/* At the end of the list. [under the lock] */
WP_INLINE void wp__uring_list(wp_uring *uring, wp_uring_op *op)
{
	op->next = NULL;
	op->is_listed = true;
	if (uring->first == NULL)
		uring->first = op;
	else
		uring->last->next = op;
	uring->last = op;
	wp__uring_set_asked(uring, 1);
}

/* [who has asked | a system call if it sleeps] */
WP_INLINE void wp__uring_nudge(wp_carrier *away)
{
	if (away != NULL)
		wp_timers_nudge(away);
}

/* False: the ring is over. `away`: its carrier; NULL: that calls. [any thread | blocks shortly] */
WP_INLINE bool wp__uring_ask(wp_uring *uring, wp_uring_op *op, wp_carrier *away)
{
	bool is_over;

	op->is_begun = op->is_cancelled = op->has_ended = op->is_listed = false;
	wp_latch_init(&op->done);
	wp_lock_acquire(&uring->lock);
	is_over = uring->is_over;
	if (!is_over)
		wp__uring_list(uring, op);
	wp_lock_release(&uring->lock);
	wp__uring_nudge(is_over ? NULL : away);
	return !is_over;
}

/* It is to end soon; its latch says when it has. [who has asked | blocks shortly] */
WP_INLINE void wp__uring_cancel(wp_uring *uring, wp_uring_op *op, wp_carrier *away)
{
	wp_lock_acquire(&uring->lock);
	if (!op->has_ended && !uring->is_over) {
		op->is_cancelled = true;
		if (!op->is_listed)
			wp__uring_list(uring, op);
	}
	wp_lock_release(&uring->lock);
	wp__uring_nudge(away);
}

/* The first that is asked, off the list. Has ended: let go; never begun, and not to begin: as if it
 * had. [under the lock] */
WP_INLINE wp_uring_op *wp__uring_pop(wp_uring *uring)
{
	wp_uring_op *op = uring->first;

	if (op == NULL)
		return NULL;
	uring->first = op->next;
	if (uring->first == NULL)
		wp__uring_set_asked(uring, 0);
	op->is_listed = false;
	if (!op->is_begun && !op->has_ended && (op->is_cancelled || uring->is_over)) {
		op->has_ended = true;
		op->result = -ECANCELED;
	}
	return op;
}

/* One that is to be given to the system; or, begun, to be ended there. NULL: there is no more.
 * [the poller, its carrier RUNNING | pushes] */
WP_INLINE wp_uring_op *wp__uring_take(wp_uring *uring, bool *is_begun)
{
	for (;;) {
		wp_uring_op *op;
		bool has_ended = false;

		wp_lock_acquire(&uring->lock);
		op = wp__uring_pop(uring);
		if (op != NULL) {
			has_ended = op->has_ended;
			*is_begun = op->is_begun;
			op->is_begun = true;
		}
		wp_lock_release(&uring->lock);
		if (!has_ended)
			return op;
		wp_latch_open(&op->done);
	}
}

/* Its poller must not end: the system writes into the memory of callers. [the poller |
 * wait-free] */
WP_INLINE bool wp__uring_is_inside(const wp_uring *uring)
{
	return uring->inside != 0;
}

/* It is over: no operation begins any more. [the poller, its carrier RUNNING | pushes] */
WP_INLINE void wp__uring_shut(wp_uring *uring)
{
	bool is_begun = false;

	wp_lock_acquire(&uring->lock);
	uring->is_over = true;
	wp_lock_release(&uring->lock);
	while (wp__uring_take(uring, &is_begun) != NULL)
		continue; /* the system has it */
}

/* The system has done with it. [the poller, its carrier RUNNING | pushes] */
WP_INLINE void wp__uring_finish(wp_uring *uring, wp_uring_op *op, int32_t result)
{
	bool is_listed;

	wp_lock_acquire(&uring->lock);
	op->has_ended = true;
	op->result = result;
	is_listed = op->is_listed;
	wp_lock_release(&uring->lock);
	if (!is_listed)
		wp_latch_open(&op->done);
}

#endif
