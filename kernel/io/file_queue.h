/* SPDX-License-Identifier: Apache-2.0
 * file_queue.h - operations on files: threads ask, the poller of their home gives them to the
 * system, by a driver.
 *
 *   caller, on any carrier                             poller of its home, each turn (descriptor_poller.c)
 *   lock; over? refused                                its event came: what has ended:
 *         else at the end of the list; [file_queue.1]    lock; ended; unlock; open its latch, unless listed
 *   unlock; nudge that carrier (timer.h)               [file_queue.2] something is asked:
 *   wait for its latch                                   lock; one off the list; unlock
 *   too late: lock; ended? no more to do                 ended: open its latch
 *         else cancelled; listed; [file_queue.1]         begun: tell the system to end it
 *   unlock; nudge; wait for its latch                    else: give it to the system, or, cancelled, open
 *                                                      [file_queue.2] once more before it blocks
 *
 * Why it works  The system has one user, the poller of a carrier, which that alone runs: so that
 *               needs no lock, and what ends is told at home. Each end signals the event that
 *               is also the poller's wakeup: one place to wait at. Whoever asks from elsewhere
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
 * Its driver    is one file, driver_<name>.c, which ends with WP_FILE_DRIVER(name), and an entry in
 *               WP_FILE_DRIVERS.
 * Evidence      make check-specs T=FileQueue, make stress T=file_queue, tests/io/test_file.py. */
#ifndef WP_FILE_QUEUE_H
#define WP_FILE_QUEUE_H

#include <errno.h>

#include "base/counters.h"
#include "sched/timer.h"
#include "thread/latch.h"

enum wp_file_what { WP_FILE_OPEN, WP_FILE_READ, WP_FILE_WRITE, WP_FILE_SYNC };

/* 64 bytes, its caller's. next, is_*, has_ended, result: under the queue's lock; the rest: its
 * caller, before it asks. done: open when the queue has done with it; result: then its caller's. */
typedef struct wp_file_op {
	struct wp_file_op *next; /* asked after it */
	wp_latch done;
	const void *at;  /* bytes, or a path */
	uint64_t offset; /* all ones: the file's own */
	uint32_t size, flags;
	int fd;
	int32_t result; /* or -errno */
	uint8_t what;
	bool is_listed, is_begun, is_cancelled, has_ended;
} wp_file_op;

/* asked: file_queue.1, file_queue.2; first, last, is_over: under the lock; the rest: the poller. */
typedef struct wp_file_queue {
	_Alignas(WP_LINE) wp_lock lock;
	wp_atomic(uint32_t) asked; /* 1: the list is not empty */
	wp_file_op *first, *last;
	bool is_over;
	const struct wp_file_driver *driver;
	void *system;              /* what the driver has opened */
	uint32_t inside;           /* what the system has */
	wp_atomic(uint64_t) begun; /* operations that it was given; ever grows */
} wp_file_queue;

/* A driver: how the system is given operations. It has each of these functions. */
typedef struct wp_file_driver {
	/* Each end of an operation signals `event`. NULL, and *why: a text. [any thread | system
	 * calls] */
	wp_file_queue *(*open)(int event, const char **why);
	/* [when its poller has ended, or did not begin | system calls] */
	void (*close)(wp_file_queue *queue);
	/* Takes what has ended, if it `is_told` of an event, and gives the system what is asked.
	 * True: there was something. [the poller, its carrier RUNNING | pushes] */
	bool (*turn)(wp_file_queue *queue, bool is_told);
	/* The poller must not block: there is something to be given to the system. [the poller |
	 * wait-free] */
	bool (*is_wanted)(wp_file_queue *queue);
	/* No operation begins any more; waits for those that the system has. [the poller |
	 * blocks] */
	void (*end)(wp_file_queue *queue);
} wp_file_driver;

/* The drivers: each poller takes the first that the system lets it open. */
#define WP_FILE_DRIVERS(X) X(uring)

#define WP__FILE_DRIVER_IS_LISTED(name) WP__FILE_DRIVER_##name##_is_listed,
enum { WP_FILE_DRIVERS(WP__FILE_DRIVER_IS_LISTED) WP__FILE_DRIVERS_COUNT };

/* The last line of the file of a driver, as WP_DRIVER. */
#define WP_FILE_DRIVER(name)                                                                   \
	_Static_assert(WP__FILE_DRIVER_##name##_is_listed >= 0, "WP_FILE_DRIVERS has each");   \
	const wp_file_driver wp__file_driver_##name = {driver_open, driver_close, driver_turn, \
						       driver_is_wanted, driver_end}

#define WP__FILE_DRIVER_IS_SOMEWHERE(name) extern const wp_file_driver wp__file_driver_##name;
WP_FILE_DRIVERS(WP__FILE_DRIVER_IS_SOMEWHERE)

/* [before it is shared | wait-free] */
WP_INLINE void wp__file_queue_init(wp_file_queue *queue)
{
	wp_init(&queue->lock.state, 0);
	wp_init(&queue->asked, 0);
	queue->first = queue->last = NULL;
	queue->is_over = false;
	queue->driver = NULL;
	queue->system = NULL;
	queue->inside = 0;
	wp_init(&queue->begun, 0);
}

/* The list is empty, or not. [under the lock] */
WP_INLINE void wp__file_queue_set_asked(wp_file_queue *queue, uint32_t asked)
{
	/* [file_queue.1] relaxed: ordered by [timer.9] before a look at its carrier's word, and
	 * what is asked by the lock; pairs file_queue.2; upholds FileQueue!OpNotLost. */
	wp_store_relaxed(&queue->asked, asked);
}

/* [the poller | wait-free] */
WP_INLINE bool wp__file_queue_is_asked(wp_file_queue *queue)
{
	/* [file_queue.2] relaxed: ordered by [carrier.6] before it blocks; elsewhere stale costs a
	 * turn; pairs file_queue.1; upholds FileQueue!OpNotLost. */
	return wp_load_relaxed(&queue->asked) != 0;
}

/* The system is given one more: it has one user. [the poller] */
WP_INLINE void wp__file_queue_enter(wp_file_queue *queue)
{
	queue->inside++;
}

/* At the end of the list. [under the lock] */
WP_INLINE void wp__file_queue_list(wp_file_queue *queue, wp_file_op *op)
{
	op->next = NULL;
	op->is_listed = true;
	if (queue->first == NULL)
		queue->first = op;
	else
		queue->last->next = op;
	queue->last = op;
	wp__file_queue_set_asked(queue, 1);
}

/* [who has asked | a system call if it sleeps] */
WP_INLINE void wp__file_queue_nudge(wp_carrier *away)
{
	if (away != NULL)
		wp_timers_nudge(away);
}

/* False: it is over. `away`: its carrier; NULL: that calls. [any thread | blocks shortly] */
WP_INLINE bool wp__file_queue_ask(wp_file_queue *queue, wp_file_op *op, wp_carrier *away)
{
	bool is_over;

	op->is_begun = op->is_cancelled = op->has_ended = op->is_listed = false;
	wp_latch_init(&op->done);
	wp_lock_acquire(&queue->lock);
	is_over = queue->is_over;
	if (!is_over)
		wp__file_queue_list(queue, op);
	wp_lock_release(&queue->lock);
	wp__file_queue_nudge(is_over ? NULL : away);
	return !is_over;
}

/* It is to end soon; its latch says when it has. [who has asked | blocks shortly] */
WP_INLINE void wp__file_queue_cancel(wp_file_queue *queue, wp_file_op *op, wp_carrier *away)
{
	wp_lock_acquire(&queue->lock);
	if (!op->has_ended && !queue->is_over) {
		op->is_cancelled = true;
		if (!op->is_listed)
			wp__file_queue_list(queue, op);
	}
	wp_lock_release(&queue->lock);
	wp__file_queue_nudge(away);
}

/* The first that is asked, off the list. Has ended: let go; never begun, and not to begin: as if it
 * had. [under the lock] */
WP_INLINE wp_file_op *wp__file_queue_pop(wp_file_queue *queue)
{
	wp_file_op *op = queue->first;

	if (op == NULL)
		return NULL;
	queue->first = op->next;
	if (queue->first == NULL)
		wp__file_queue_set_asked(queue, 0);
	op->is_listed = false;
	if (!op->is_begun && !op->has_ended && (op->is_cancelled || queue->is_over)) {
		op->has_ended = true;
		op->result = -ECANCELED;
	}
	return op;
}

/* One that is to be given to the system; or, begun, to be ended there. NULL: there is no more.
 * [the poller, its carrier RUNNING | pushes] */
WP_INLINE wp_file_op *wp__file_queue_take(wp_file_queue *queue, bool *is_begun)
{
	for (;;) {
		wp_file_op *op;
		bool has_ended = false;

		wp_lock_acquire(&queue->lock);
		op = wp__file_queue_pop(queue);
		if (op != NULL) {
			has_ended = op->has_ended;
			*is_begun = op->is_begun;
			op->is_begun = true;
		}
		wp_lock_release(&queue->lock);
		if (!has_ended)
			return op;
		wp_latch_open(&op->done);
	}
}

/* Its poller must not end: the system writes into the memory of callers. [the poller |
 * wait-free] */
WP_INLINE bool wp__file_queue_is_inside(const wp_file_queue *queue)
{
	return queue->inside != 0;
}

/* It is over: no operation begins any more. [the poller, its carrier RUNNING | pushes] */
WP_INLINE void wp__file_queue_shut(wp_file_queue *queue)
{
	bool is_begun = false;

	wp_lock_acquire(&queue->lock);
	queue->is_over = true;
	wp_lock_release(&queue->lock);
	while (wp__file_queue_take(queue, &is_begun) != NULL)
		continue; /* the system has it */
}

/* The system has done with it. [the poller, its carrier RUNNING | pushes] */
WP_INLINE void wp__file_queue_finish(wp_file_queue *queue, wp_file_op *op, int32_t result)
{
	bool is_listed;

	wp_lock_acquire(&queue->lock);
	op->has_ended = true;
	op->result = result;
	is_listed = op->is_listed;
	wp_lock_release(&queue->lock);
	if (!is_listed)
		wp_latch_open(&op->done);
}

#endif
