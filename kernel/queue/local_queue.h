/* SPDX-License-Identifier: Apache-2.0
 * local_queue.h - the bounded run queue of one carrier, from which other carriers steal. It is a
 * ring of tasks. If the ring is full, half of it moves to a global queue in one step; a thief also
 * takes half of it in one step.
 *
 *   owner                                        thief, or thread that empties the queue
 *   push: [local_queue.1] full: [local_queue.4]  [local_queue.7] h := head
 *           head := head + half, which go to     [local_queue.8] t := tail; t <= h: nothing
 *           the global queue                     [local_queue.9] copy the oldest half, or all
 *         [local_queue.2] slot := task           [local_queue.10] head: h to h + n; lost: again
 *         [local_queue.3] tail := tail + 1
 *   pop:  [local_queue.12] the next slot has a task: [local_queue.13] take it
 *         else [local_queue.5] h := head; [local_queue.6] [local_queue.4] take the task at h
 *   keep: next slot and ring are empty: [local_queue.11] put the task into the next slot
 *
 * Why it works  `head` counts the tasks that have left the ring, `tail` those that have entered it.
 *               Both have 64 bits, so neither returns to a value that a thread still holds. Only
 *               the owner moves `tail`, and it writes a slot again only when `head` has passed that
 *               slot. A thread that still reads the slot then loses its compare-and-swap. A thief
 *               first copies tasks, and owns nothing before it has won its compare-and-swap. It
 *               copies them to slots behind its own tail, where no thread looks before that tail
 *               moves.
 * Order         Tasks leave the ring in the order of their pushes, whichever thread takes them. The
 *               owner gets its own pushed and kept tasks in that order, apart from those that
 *               others took. A push into a full ring moves the oldest half to the global queue, in
 *               its order, in one push.
 * Next slot     The next slot holds the task that runs next. It is used only if the queue is empty
 *               otherwise, so its task overtakes no other. Thieves do not look at the slot, so no
 *               sleeper need be woken for its task. A thread that empties the queue takes it.
 * Not promised  The queue does not serve the global queue: the caller checks that when
 *               wp_local_queue_is_global_turn returns true, and when it has no other task. The
 *               queue wakes no thread; the caller does. The queue does not know which queue is the
 *               global one: a carrier passes its own run queue (local_queue_carrier.h).
 * Prior art     The run queues of Go's Ps and of Tokio's workers: a ring of 256, half of which is
 *               stolen or overflows to a global queue. The next slot is like Go's runnext and
 *               Tokio's LIFO slot, but never overtakes.
 * Spec          specs/queue/LocalQueue.tla: Bounded, NothingTwice, NothingLost, OverflowMovesHalf,
 *               FifoPerOwner, EmptyIsTrue, HandedOver, GlobalServed.
 * Evidence      make check-specs T=LocalQueue, make stress T=local_queue,
 *               tests/queue/test_local_queue.py. */
#ifndef WP_LOCAL_QUEUE_H
#define WP_LOCAL_QUEUE_H

#include "base/order.h"
#include "queue/mpsc.h"

/* The number of tasks in the ring, a power of two. Scenarios of the judges have fewer. */
#ifndef WP_LOCAL_CAPACITY
#define WP_LOCAL_CAPACITY 256
#endif

enum {
	WP_LOCAL_HALF = WP_LOCAL_CAPACITY / 2,
	WP_LOCAL_TURNS = 2,  /* one poll of this many begins with the global queue */
	WP_LOCAL_ROUNDS = 0, /* rounds of the ring after which indices wrap; 0: never */
};

_Static_assert((WP_LOCAL_CAPACITY & (WP_LOCAL_CAPACITY - 1)) == 0 && WP_LOCAL_HALF > 0,
	       "not a power of two");

/* 2,304 bytes; each end has cache lines of its own. `head` is written by each thread that takes
 * tasks (local_queue.4, local_queue.10); `tail` by the owner (local_queue.3); `next` by the owner
 * (local_queue.11) and by the thread that takes its task (local_queue.13); `turn` and `slots`
 * (local_queue.2) by the owner. */
typedef struct wp_local_queue {
	_Alignas(WP_LINE) wp_atomic(uint64_t) head;
	_Alignas(WP_LINE) wp_atomic(uint64_t) tail;
	wp_atomic(wp_mpsc_node *) next;
	uint32_t turn;
	_Alignas(WP_LINE) wp_atomic(wp_mpsc_node *) slots[WP_LOCAL_CAPACITY];
} wp_local_queue;

/* Makes an empty queue. [one thread, before the queue is shared | wait-free] */
WP_INLINE void wp_local_queue_init(wp_local_queue *local)
{
	wp_init(&local->head, 0);
	wp_init(&local->tail, 0);
	wp_init(&local->next, NULL);
	local->turn = 0;
	for (int slot = 0; slot < WP_LOCAL_CAPACITY; slot++)
		wp_init(&local->slots[slot], NULL);
}

WP_INLINE uint64_t wp__local_queue_after(uint64_t index, uint64_t many)
{
	return (index + many) & ((uint64_t)WP_LOCAL_ROUNDS * WP_LOCAL_CAPACITY - 1);
}

/* Returns the number of tasks between two indices. It is larger than the capacity if the head is
 * outdated. The tail is never outdated: a thread that sees a head also sees the tail of that time.
 */
WP_INLINE uint64_t wp__local_queue_between(uint64_t head, uint64_t tail)
{
	return wp__local_queue_after(tail - head, 0);
}

/* Returns the owner's tail. [its owner | wait-free] */
WP_INLINE uint64_t wp__local_queue_tail(wp_local_queue *local)
{
	/* [local_queue.14] relaxed, atomicity is enough: the owner reads its own word; pairs
	 * local_queue.3; upholds LocalQueue!Bounded. */
	return wp_load_relaxed(&local->tail);
}

/* Writes a slot. [its owner | wait-free] */
WP_INLINE void wp__local_queue_put(wp_local_queue *local, uint64_t index, wp_mpsc_node *node)
{
	/* [local_queue.2] relaxed: ordered by local_queue.3, which publishes it; pairs
	 * local_queue.9; upholds LocalQueue!NothingTwice. */
	wp_store_relaxed(&local->slots[index % WP_LOCAL_CAPACITY], node);
}

/* Publishes the slots before `tail`, so that thieves see them. [its owner | wait-free] */
WP_INLINE void wp__local_queue_show(wp_local_queue *local, uint64_t tail)
{
	/* [local_queue.3] release; pairs local_queue.8, local_queue.14; upholds
	 * LocalQueue!NothingLost: the slots, and what tasks carry, are written before. */
	wp_store_release(&local->tail, tail);
}

WP_INLINE wp_mpsc_node *wp__local_queue_at(wp_local_queue *local, uint64_t index)
{
	/* [local_queue.6] relaxed, atomicity is enough: the owner alone writes slots; pairs
	 * local_queue.4; upholds LocalQueue!NothingTwice. */
	return wp_load_relaxed(&local->slots[index % WP_LOCAL_CAPACITY]);
}

/* The owner takes tasks from the front. Returns false if it lost the race against a thief; then
 * *head is the current head. [its owner | wait-free] */
WP_INLINE bool wp__local_queue_take(wp_local_queue *local, uint64_t *head, uint64_t many)
{
	/* [local_queue.4] release; pairs local_queue.6, local_queue.7, local_queue.10; upholds
	 * LocalQueue!EmptyIsTrue: a thread that sees this head sees the tail of that time. */
	return wp_cas_release(&local->head, head, wp__local_queue_after(*head, many));
}

/* Pushes tasks to the global queue in this order, as one chain and with one exchange. [the thread
 * that took them | wait-free] */
WP_INLINE void wp__local_queue_spill(wp_mpsc *global, wp_mpsc_node **nodes, uint64_t many)
{
	wp_mpsc_cell *cell = wp__mpsc_reserve(global, nodes[many - 1]);

	for (uint64_t at = 0; at + 1 < many; at++)
		/* [local_queue.15] relaxed: ordered by mpsc.3, which publishes the first; pairs
		 * mpsc.5; upholds LocalQueue!NothingLost. */
		wp_store_relaxed(&nodes[at]->next, nodes[at + 1]);
	wp__mpsc_publish(cell, nodes[0]);
}

/* Makes room in a full ring: moves half of the tasks to the global queue, unless another thread has
 * taken some in the meantime. Returns the number of tasks moved. [its owner | wait-free] */
WP_INLINE uint32_t wp__local_queue_overflow(wp_local_queue *local, uint64_t head, wp_mpsc *global)
{
	wp_mpsc_node *oldest[WP_LOCAL_HALF];
	uint32_t many = WP_LOCAL_HALF;

	for (uint32_t at = 0; at < many; at++)
		oldest[at] = wp__local_queue_at(local, head + at);
	if (!wp__local_queue_take(local, &head, many))
		return 0;
	wp__local_queue_spill(global, oldest, many);
	return many;
}

WP_INLINE bool wp__local_queue_is_full(wp_local_queue *local, uint64_t *head)
{
	uint64_t tail = wp__local_queue_tail(local);

	/* [local_queue.1] acquire; pairs local_queue.10; upholds LocalQueue!NothingTwice: a thread
	 * that has taken a slot's task has read the slot. kept: if it were relaxed, a thief could
	 * read the slot after its claim, as machines do and RC11 does not (load buffering). */
	*head = wp_load_acquire(&local->head);
	return wp__local_queue_between(*head, tail) >= WP_LOCAL_CAPACITY;
}

/* Appends a task, which must be in no queue. Returns how many tasks were moved to the global queue
 * to make room. The caller then wakes a sleeper. [its owner | wait-free] */
WP_INLINE uint32_t wp_local_queue_push(wp_local_queue *local, wp_mpsc_node *node, wp_mpsc *global)
{
	uint64_t tail = wp__local_queue_tail(local), head;
	uint32_t moved = 0;

	while (moved == 0 && wp__local_queue_is_full(local, &head))
		moved = wp__local_queue_overflow(local, head, global);
	wp__local_queue_put(local, tail, node);
	wp__local_queue_show(local, wp__local_queue_after(tail, 1));
	return moved;
}

/* Empties the next slot and returns its task, or NULL. [its owner, or a thread that empties the
 * queue | wait-free] */
WP_INLINE wp_mpsc_node *wp__local_queue_take_next(wp_local_queue *local)
{
	/* [local_queue.13] acquire; pairs local_queue.11, local_queue.12; upholds
	 * LocalQueue!NothingTwice: a thread that hands the task over sees what it carries. */
	return wp_exchange_acquire(&local->next, NULL);
}

/* Returns true if the next slot has a task. [its owner | wait-free] */
WP_INLINE bool wp__local_queue_has_next(wp_local_queue *local)
{
	/* [local_queue.12] relaxed, atomicity is enough: the owner wrote it, and local_queue.13
	 * takes it; pairs local_queue.11, local_queue.13; upholds LocalQueue!EmptyIsTrue. */
	return wp_load_relaxed(&local->next) != NULL;
}

/* Returns where the ring begins; the value may be outdated. [its owner | wait-free] */
WP_INLINE uint64_t wp__local_queue_head(wp_local_queue *local)
{
	/* [local_queue.5] relaxed: a head that is stale costs a failed local_queue.4, never a task;
	 * pairs local_queue.10; upholds LocalQueue!EmptyIsTrue. */
	return wp_load_relaxed(&local->head);
}

/* Takes the task in the next slot, or else the oldest task of the ring. Returns NULL if both are
 * empty. [its owner | lock-free] */
WP_INLINE wp_mpsc_node *wp_local_queue_pop(wp_local_queue *local)
{
	uint64_t tail = wp__local_queue_tail(local), head;
	wp_mpsc_node *node;

	if (wp__local_queue_has_next(local) && (node = wp__local_queue_take_next(local)) != NULL)
		return node;
	head = wp__local_queue_head(local);
	while (head != tail) {
		node = wp__local_queue_at(local, head);
		if (wp__local_queue_take(local, &head, 1))
			return node;
	}
	return NULL;
}

/* Returns true if neither the ring nor the next slot has a task. The owner may then sleep, if the
 * global queue is empty too. [its owner | wait-free] */
WP_INLINE bool wp_local_queue_is_empty(wp_local_queue *local)
{
	return !wp__local_queue_has_next(local) &&
	       wp__local_queue_head(local) == wp__local_queue_tail(local);
}

/* Puts a task into the next slot, so that the owner runs it next and no sleeper is woken. Returns
 * false if the queue has another task; the caller then pushes the task. [its owner | wait-free] */
WP_INLINE bool wp_local_queue_keep(wp_local_queue *local, wp_mpsc_node *node)
{
	if (wp__local_queue_has_next(local))
		return false;
	if (wp__local_queue_head(local) != wp__local_queue_tail(local))
		return false;
	/* [local_queue.11] release; pairs local_queue.12, local_queue.13; upholds
	 * LocalQueue!HandedOver: what the task carries is written before. */
	wp_store_release(&local->next, node);
	return true;
}

/* Call before each poll. Returns true if this poll begins with the global queue. [its owner |
 * wait-free] */
WP_INLINE bool wp_local_queue_is_global_turn(wp_local_queue *local)
{
	return ++local->turn % WP_LOCAL_TURNS == 0;
}

/* The functions that other carriers call: they check whether the queue has tasks, steal half of
 * them, or take all of them. */

/* Returns the number of tasks in the ring, and sets *head to where the ring begins. It reads
 * `head`, and then `tail`. In the other order, tasks might come and go between the reads, and the
 * ring would look empty. [any thread | wait-free] */
WP_INLINE uint64_t wp__local_queue_look(wp_local_queue *local, uint64_t *head)
{
	uint64_t tail = 0;

	/* [local_queue.7] acquire; pairs local_queue.4, local_queue.10; upholds
	 * LocalQueue!EmptyIsTrue: the tail is not older than the head. */
	*head = wp_load_acquire(&local->head);
	/* [local_queue.8] acquire; pairs local_queue.3; upholds LocalQueue!NothingLost: the slots
	 * before the tail are written, and what their tasks carry. */
	tail = wp_load_acquire(&local->tail);
	return wp__local_queue_between(*head, tail);
}

/* Returns how many tasks may be stolen; the next slot does not count. A result of 0 is true for the
 * moment of the second read. [any thread | wait-free] */
WP_INLINE uint32_t wp_local_queue_stealable(wp_local_queue *local)
{
	uint64_t head, many = wp__local_queue_look(local, &head);

	return (uint32_t)(many < WP_LOCAL_CAPACITY ? many : WP_LOCAL_CAPACITY);
}

/* Reads a slot. The caller owns the task only after a successful claim. [any thread | wait-free] */
WP_INLINE wp_mpsc_node *wp__local_queue_copy(wp_local_queue *local, uint64_t index)
{
	/* [local_queue.9] relaxed: ordered by local_queue.8, and if the slot has been written
	 * again, local_queue.10 fails; pairs local_queue.2; upholds LocalQueue!NothingTwice. */
	return wp_load_relaxed(&local->slots[index % WP_LOCAL_CAPACITY]);
}

/* Takes the tasks that were copied. Returns false if the caller lost the race; then *head is where
 * the ring begins now. [any thread | wait-free] */
WP_INLINE bool wp__local_queue_claim(wp_local_queue *local, uint64_t *head, uint64_t many)
{
	/* [local_queue.10] release; pairs local_queue.1, local_queue.4, local_queue.5,
	 * local_queue.7; upholds LocalQueue!NothingTwice: the copy comes before, and the owner
	 * writes the slots after. */
	return wp_cas_release(&local->head, head, wp__local_queue_after(*head, many));
}

/* Copies the oldest tasks of the victim, the queue that is stolen from. Returns the first task, and
 * puts the others behind the tail of the thief's own ring. [the thief | wait-free] */
WP_INLINE wp_mpsc_node *wp__local_queue_copy_half(wp_local_queue *victim, uint64_t head,
						  uint64_t many, wp_local_queue *own, uint64_t tail)
{
	for (uint64_t at = 1; at < many; at++)
		wp__local_queue_put(own, tail + at - 1, wp__local_queue_copy(victim, head + at));
	return wp__local_queue_copy(victim, head);
}

/* Returns the number of tasks to steal: half of them, but at least one, and no more than the
 * thief's ring has room for. */
WP_INLINE uint64_t wp__local_queue_share(uint64_t many, uint64_t room)
{
	uint64_t half = many - many / 2;

	half = half < WP_LOCAL_HALF ? half : WP_LOCAL_HALF;
	return half < room + 1 ? half : room + 1;
}

/* Steals the older half of the victim's tasks, and returns how many it stole. The caller runs
 * *first; the other tasks are in the thief's own ring, and the caller wakes a sleeper as after a
 * push. If the ring was empty, returns 0 and leaves *first unchanged. [the owner of `own` |
 * lock-free] */
WP_INLINE uint32_t wp_local_queue_steal(wp_local_queue *victim, wp_local_queue *own,
					wp_mpsc_node **first)
{
	uint64_t tail = wp__local_queue_tail(own), ours, theirs, many;
	wp_mpsc_node *oldest = NULL;

	wp__local_queue_is_full(own, &ours);
	while ((many = wp__local_queue_look(victim, &theirs)) > 0) {
		many = wp__local_queue_share(many, WP_LOCAL_CAPACITY -
							   wp__local_queue_between(ours, tail));
		oldest = wp__local_queue_copy_half(victim, theirs, many, own, tail);
		if (!wp__local_queue_claim(victim, &theirs, many))
			continue;
		if (many > 1)
			wp__local_queue_show(own, wp__local_queue_after(tail, many - 1));
		*first = oldest;
		return (uint32_t)many;
	}
	return 0;
}

/* Moves all tasks to the global queue, the one in the next slot too, and returns how many it moved.
 * It is called for a carrier that is blocked. Tasks that come later stay with the owner, which
 * checks whether it is blocked. [any thread, several at once | lock-free] */
WP_INLINE uint32_t wp_local_queue_hand_over(wp_local_queue *local, wp_mpsc *global)
{
	wp_mpsc_node *oldest[WP_LOCAL_HALF], *next = wp__local_queue_take_next(local);
	uint32_t moved = next != NULL;
	uint64_t head, many;

	if (next != NULL)
		wp_mpsc_push(global, next);
	while ((many = wp__local_queue_look(local, &head)) > 0) {
		many = many < WP_LOCAL_HALF ? many : WP_LOCAL_HALF;
		for (uint64_t at = 0; at < many; at++)
			oldest[at] = wp__local_queue_copy(local, head + at);
		if (!wp__local_queue_claim(local, &head, many))
			continue;
		wp__local_queue_spill(global, oldest, many);
		moved += (uint32_t)many;
	}
	return moved;
}

#endif
