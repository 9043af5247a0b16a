/* SPDX-License-Identifier: Apache-2.0
 * file_queue.h - operations on files, which the poller of a thread's home submits to the system.
 *
 *   caller, on any carrier                    poller of its home, each turn (descriptor_poller.c)
 *   lock; over? refuse it                     its event came: for each completed operation
 *     else append it to the list                lock; ended := true; unlock
 *          [file_queue.1] asked := 1            open its latch, unless it is listed
 *   unlock; wake that carrier (timer.h)       [file_queue.2] asked? for each listed operation
 *   wait for the latch                          lock; take it off the list; unlock
 *   deadline: lock; ended? done                 it has ended: open its latch
 *     else cancelled := true; append it         it has begun: tell the system to cancel it
 *          [file_queue.1] asked := 1            it is cancelled: open its latch
 *   unlock; wake that carrier; wait for         else: submit it
 *     the latch                               [file_queue.2] check once more before it blocks
 *
 * Why it works  Only the poller uses the system's ring, and only its carrier runs the poller. So
 *               the ring needs no lock, and completions are reported at home. Each completion
 *               signals the event that is also the poller's wakeup, so the poller waits in one
 *               place. A request from another carrier ends the poller's sleep in the way in which
 *               arming a timer does: either the poller sees the request before it blocks, or the
 *               requester sees the carrier's word parked [timer.9] [carrier.6].
 *               The system writes into the caller's memory until the operation has ended. So a
 *               caller that is interrupted, or reaches its deadline, cancels the operation and then
 *               waits for its end. The latch of an operation, which may lie on a stack, is touched
 *               last. While an operation is listed, its only link is in use. If it ends meanwhile,
 *               the poller opens its latch when it takes the operation off the list.
 *               At its end the poller cancels the operations that the system still has and waits
 *               for them. Only then does a close hand back the waiting threads.
 * Prior art     Linux's io_uring; Tokio and Go let an OS thread block in each file operation
 *               instead.
 * Not promised  A cancelled operation may take long to end: on a disk it ends when the disk has
 *               answered.
 * Spec          specs/io/FileQueue.tla: OpNotLost, BufferOutlivesOp, OpIsAlive, CancelNotLost,
 *               IoCompletionAtHome, CancelEnds.
 * Driver        One file, driver_<name>.c, which ends with WP_FILE_DRIVER(name), and an entry in
 *               WP_FILE_DRIVERS.
 * Evidence      make check-specs T=FileQueue, make stress T=file_queue, tests/io/test_file.py. */
#ifndef WP_FILE_QUEUE_H
#define WP_FILE_QUEUE_H

#include <errno.h>

#include "base/counters.h"
#include "sched/timer.h"
#include "thread/latch.h"

enum wp_file_what { WP_FILE_OPEN, WP_FILE_READ, WP_FILE_WRITE, WP_FILE_SYNC };

/* 64 bytes, in memory of the caller. `next`, the is_ fields, has_ended and result are under the
 * queue's lock; the caller sets the other fields before it asks. When `done` is open the queue no
 * longer uses the operation, and the caller may read `result`. */
typedef struct wp_file_op {
	struct wp_file_op *next; /* the next listed operation */
	wp_latch done;
	const void *at;  /* the bytes, or a path */
	uint64_t offset; /* all ones: the file's own position */
	uint32_t size, flags;
	int fd;
	int32_t result; /* or -errno */
	uint8_t what;
	bool is_listed, is_begun, is_cancelled, has_ended;
} wp_file_op;

/* `asked` is used by file_queue.1 and file_queue.2; `first`, `last` and `is_over` are under the
 * lock; only the poller uses the other fields. */
typedef struct wp_file_queue {
	_Alignas(WP_LINE) wp_lock lock;
	wp_atomic(uint32_t) asked; /* 1: the list is not empty */
	wp_file_op *first, *last;
	bool is_over;
	const struct wp_file_driver *driver;
	void *system;              /* state of the driver */
	uint32_t inside;           /* operations that the system has */
	wp_atomic(uint64_t) begun; /* all operations that it was given so far */
} wp_file_queue;

/* A driver is the code by which operations reach the system. It has each of these functions. */
typedef struct wp_file_driver {
	/* Opens a queue. Each completion must signal `event`. Returns NULL on failure, and then
	 * *why is a text. [any thread | system calls] */
	wp_file_queue *(*open)(int event, const char **why);
	/* [after the poller has ended, or if it never began | system calls] */
	void (*close)(wp_file_queue *queue);
	/* Finishes what has completed, if `is_told` says that the event came, and submits what is
	 * listed. Returns true if there was something to do. [the poller, while its carrier is
	 * RUNNING | pushes threads] */
	bool (*turn)(wp_file_queue *queue, bool is_told);
	/* Returns true if there is something to submit, so that the poller must not block. [the
	 * poller | wait-free] */
	bool (*is_wanted)(wp_file_queue *queue);
	/* Admits no new operation, and waits for those that the system has. [the poller | blocks]
	 */
	void (*end)(wp_file_queue *queue);
} wp_file_driver;

/* The drivers. Each poller takes the first that the system lets it open. */
#define WP_FILE_DRIVERS(X) X(uring)

#define WP__FILE_DRIVER_IS_LISTED(name) WP__FILE_DRIVER_##name##_is_listed,
enum { WP_FILE_DRIVERS(WP__FILE_DRIVER_IS_LISTED) WP__FILE_DRIVERS_COUNT };

/* The last line of a driver's file, as WP_DRIVER. */
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

/* Publishes whether the list is empty. [under the lock] */
WP_INLINE void wp__file_queue_set_asked(wp_file_queue *queue, uint32_t asked)
{
	/* [file_queue.1] relaxed: ordered by [timer.9] before the look at the carrier's word; the
	 * lock orders the operations; pairs file_queue.2; upholds FileQueue!OpNotLost. */
	wp_store_relaxed(&queue->asked, asked);
}

/* Returns true if an operation is listed. [the poller | wait-free] */
WP_INLINE bool wp__file_queue_is_asked(wp_file_queue *queue)
{
	/* [file_queue.2] relaxed: ordered by [carrier.6] before the poller blocks; elsewhere a
	 * value that is stale costs a turn; pairs file_queue.1; upholds FileQueue!OpNotLost. */
	return wp_load_relaxed(&queue->asked) != 0;
}

/* Counts one more entry that the system has. Only the poller gives it entries. [the poller] */
WP_INLINE void wp__file_queue_enter(wp_file_queue *queue)
{
	queue->inside++;
}

/* Appends an operation to the list. [under the lock] */
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

/* Wakes that carrier, without a task for it. NULL: there is no carrier to wake. [any thread | a
 * system call if the carrier sleeps] */
WP_INLINE void wp__file_queue_nudge(wp_carrier *away)
{
	if (away != NULL)
		wp_timers_nudge(away);
}

/* Lists an operation. Returns false if the queue is over. `away` is the carrier of the queue, or
 * NULL if the caller runs on it. [any thread | blocks briefly] */
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

/* Asks for an operation to end soon; its latch opens when it has. [the thread that asked | blocks
 * briefly] */
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

/* Takes the first operation off the list. Returns NULL if the list is empty. An operation that has
 * not begun and must not begin is marked as ended. [under the lock] */
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

/* Returns the next operation to submit or, if *is_begun, to cancel. Returns NULL if there are no
 * more. Opens the latches of operations that have ended. [the poller, while its carrier is RUNNING
 * | pushes threads] */
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

/* Returns true if the system still writes into callers' memory, so the poller must not end. [the
 * poller | wait-free] */
WP_INLINE bool wp__file_queue_is_inside(const wp_file_queue *queue)
{
	return queue->inside != 0;
}

/* Admits no more operations, and ends those that the system has not got. [the poller, its carrier
 * RUNNING | pushes threads] */
WP_INLINE void wp__file_queue_shut(wp_file_queue *queue)
{
	bool is_begun = false;

	wp_lock_acquire(&queue->lock);
	queue->is_over = true;
	wp_lock_release(&queue->lock);
	while (wp__file_queue_take(queue, &is_begun) != NULL)
		continue; /* the system has it */
}

/* Records that the system has finished an operation. [the poller, its carrier RUNNING | pushes
 * threads] */
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
