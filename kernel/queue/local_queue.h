/* SPDX-License-Identifier: Apache-2.0
 * local_queue.h - bounded run queue of one carrier: a ring, half of which overflows or is stolen at
 * once.
 *
 *   owner                                                             thief, or who hands the queue over
 *   push: [local_queue.1] full: [local_queue.4] head := head + half,  [local_queue.7] h := head
 *              which go to the global queue                           [local_queue.8] t := tail; t <= h: nothing
 *         [local_queue.2] slot := task                                [local_queue.9] copy the oldest half, or all
 *         [local_queue.3] tail := tail + 1                            [local_queue.10] head: h to h + n;
 *                                                                       lost: again
 *   pop:  [local_queue.12] the next slot: [local_queue.13] take it
 *         else [local_queue.5] h := head; [local_queue.6] [local_queue.4] take one from there
 *   keep: next slot and ring are empty: [local_queue.11] put it there
 *
 * Why it works  head counts what has left, tail what has come: 64 bits, so neither comes back to a
 *               value that somebody still holds. The owner alone moves tail, and writes a slot
 *               again only when head has passed it: then the compare-and-swap of whoever still
 *               reads the slot is lost. A thief copies first, and owns nothing before it has won.
 *               It copies behind its own tail, where nobody looks before it is moved.
 * Order         Tasks leave the ring in the order of their pushes, whoever takes them; the owner
 *               gets what it pushed and kept in that order, but for what was taken. What does not
 *               fit sends the oldest half away, in its order, in one push.
 * Next slot     for what runs next: used if nothing else is there, so it overtakes nothing. Thieves
 *               do not look at it: nobody need be told. Who hands the queue over takes it.
 * Not promised  That the global queue is served: the caller asks it when
 *               wp_local_queue_is_global_turn says so, and when it has nothing. Anything about
 *               wakes: they are the caller's. Which queue is the global one: a carrier gives its
 *               own run queue (local_queue_carrier.h).
 * Spec          specs/queue/LocalQueue.tla: Bounded, NothingTwice, NothingLost, OverflowMovesHalf,
 *               FifoPerOwner, EmptyIsTrue, HandedOver, GlobalServed.
 * Evidence      make check-specs T=LocalQueue, make stress T=local_queue,
 *               tests/queue/test_local_queue.py.
 *
 * What others do: local_queue.h. */
#ifndef WP_LOCAL_QUEUE_H
#define WP_LOCAL_QUEUE_H

#include "base/order.h"
#include "queue/mpsc.h"

/* Tasks: a power of two. Scenarios have fewer. */
#ifndef WP_LOCAL_CAPACITY
#define WP_LOCAL_CAPACITY 256
#endif

enum {
	WP_LOCAL_HALF = WP_LOCAL_CAPACITY / 2,
	WP_LOCAL_TURNS = 2,  /* polls: one of them begins with the global queue */
	WP_LOCAL_ROUNDS = 0, /* then indices wrap; 0: never */
};

_Static_assert((WP_LOCAL_CAPACITY & (WP_LOCAL_CAPACITY - 1)) == 0 && WP_LOCAL_HALF > 0,
	       "not a power of two");

/* 2,304 bytes; ends on lines of their own. head: whoever takes (local_queue.4, local_queue.10).
 * tail: its owner (local_queue.3). next: its owner (local_queue.11), who takes it (local_queue.13).
 * turn: its owner. slots: its owner (local_queue.2). */
typedef struct wp_local_queue {
	_Alignas(WP_LINE) wp_atomic(uint64_t) head;
	_Alignas(WP_LINE) wp_atomic(uint64_t) tail;
	wp_atomic(wp_mpsc_node *) next;
	uint32_t turn;
	_Alignas(WP_LINE) wp_atomic(wp_mpsc_node *) slots[WP_LOCAL_CAPACITY];
} wp_local_queue;

WP_INLINE void
wp_local_queue_init(wp_local_queue *local) /* empty [before it is shared | wait-free] */
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

/* Tasks between two indices; more than there can be if the head is outdated. The tail never is: who
 * sees a head sees the tail of its time. */
WP_INLINE uint64_t wp__local_queue_between(uint64_t head, uint64_t tail)
{
	return wp__local_queue_after(tail - head, 0);
}

WP_INLINE uint64_t wp__local_queue_tail(wp_local_queue *local) /* [its owner | wait-free] */
{
	/* [local_queue.14] relaxed, atomicity is enough: its own; pairs local_queue.3; upholds
	 * LocalQueue!Bounded. */
	return wp_load_relaxed(&local->tail);
}

/* [its owner | wait-free] */
WP_INLINE void wp__local_queue_put(wp_local_queue *local, uint64_t index, wp_mpsc_node *node)
{
	/* [local_queue.2] relaxed: ordered by local_queue.3, which shows it; pairs local_queue.9;
	 * upholds LocalQueue!NothingTwice. */
	wp_store_relaxed(&local->slots[index % WP_LOCAL_CAPACITY], node);
}

WP_INLINE void wp__local_queue_show(wp_local_queue *local,
				    uint64_t tail) /* [its owner | wait-free] */
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

/* The owner takes tasks from the front. False: *head is what it is now. [its owner | wait-free] */
WP_INLINE bool wp__local_queue_take(wp_local_queue *local, uint64_t *head, uint64_t many)
{
	/* [local_queue.4] release; pairs local_queue.6, local_queue.7, local_queue.10; upholds
	 * LocalQueue!EmptyIsTrue: who sees this head sees the tail of its time. */
	return wp_cas_release(&local->head, head, wp__local_queue_after(*head, many));
}

/* Pushes tasks to the global queue, in this order: one chain, one exchange. [who has them |
 * wait-free] */
WP_INLINE void wp__local_queue_spill(wp_mpsc *global, wp_mpsc_node **nodes, uint64_t many)
{
	wp_mpsc_cell *cell = wp__mpsc_reserve(global, nodes[many - 1]);

	for (uint64_t at = 0; at + 1 < many; at++)
		/* [local_queue.15] relaxed: ordered by mpsc.3, which shows the first; pairs mpsc.5;
		 * upholds LocalQueue!NothingLost. */
		wp_store_relaxed(&nodes[at]->next, nodes[at + 1]);
	wp__mpsc_publish(cell, nodes[0]);
}

/* Room is made: by whoever has taken tasks meanwhile, or by half of them, which go to the global
 * queue. [its owner | wait-free] */
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

	/* [local_queue.1] acquire; pairs local_queue.10; upholds LocalQueue!NothingTwice: who has
	 * taken what was in the slot has read it. kept: relaxed, a thief could read the slot after
	 * its claim, as machines do and RC11 does not (load buffering). */
	*head = wp_load_acquire(&local->head);
	return wp__local_queue_between(*head, tail) >= WP_LOCAL_CAPACITY;
}

/* Appends a task, which must be in no queue. So many were moved to the global queue to make room.
 * The caller then tells who sleeps. [its owner | wait-free] */
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

/* What the slot has, if anything; now it is empty. [its owner, or who hands over | wait-free] */
WP_INLINE wp_mpsc_node *wp__local_queue_take_next(wp_local_queue *local)
{
	/* [local_queue.13] acquire; pairs local_queue.11, local_queue.12; upholds
	 * LocalQueue!NothingTwice: who hands it over sees what it carries. */
	return wp_exchange_acquire(&local->next, NULL);
}

WP_INLINE bool wp__local_queue_has_next(wp_local_queue *local) /* [its owner | wait-free] */
{
	/* [local_queue.12] relaxed, atomicity is enough: its own, and local_queue.13 takes it;
	 * pairs local_queue.11, local_queue.13; upholds LocalQueue!EmptyIsTrue. */
	return wp_load_relaxed(&local->next) != NULL;
}

WP_INLINE uint64_t wp__local_queue_head(wp_local_queue *local) /* [its owner | wait-free] */
{
	/* [local_queue.5] relaxed: stale costs a lost local_queue.4, never a task; pairs
	 * local_queue.10; upholds LocalQueue!EmptyIsTrue. */
	return wp_load_relaxed(&local->head);
}

/* The oldest task, or NULL: there is none, in the slot neither. [its owner | lock-free] */
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

/* Nothing to run, in the slot neither: it may sleep, if the global queue is empty. [its owner |
 * wait-free] */
WP_INLINE bool wp_local_queue_is_empty(wp_local_queue *local)
{
	return !wp__local_queue_has_next(local) &&
	       wp__local_queue_head(local) == wp__local_queue_tail(local);
}

/* For a task that its owner is to run next, and that nobody need be told of. False: something else
 * is there; the caller pushes it. [its owner | wait-free] */
WP_INLINE bool wp_local_queue_keep(wp_local_queue *local, wp_mpsc_node *node)
{
	if (wp__local_queue_has_next(local))
		return false;
	if (wp__local_queue_head(local) != wp__local_queue_tail(local))
		return false;
	/* [local_queue.11] release; pairs local_queue.12, local_queue.13; upholds
	 * LocalQueue!HandedOver: what it carries is written before. */
	wp_store_release(&local->next, node);
	return true;
}

/* Before each poll. True: this one begins with the global queue. [its owner | wait-free] */
WP_INLINE bool wp_local_queue_is_global_turn(wp_local_queue *local)
{
	return ++local->turn % WP_LOCAL_TURNS == 0;
}

/* What other carriers do to the queue: look whether it has tasks, steal half, take all of it. */

/* Tasks in the ring, and where it began. First head, then tail: the other way round, tasks may come
 * and go between the reads, and it would look empty. [any thread | wait-free] */
WP_INLINE uint64_t wp__local_queue_look(wp_local_queue *local, uint64_t *head)
{
	uint64_t tail = 0;

	/* [local_queue.7] acquire; pairs local_queue.4, local_queue.10; upholds
	 * LocalQueue!EmptyIsTrue: the tail is not older. */
	*head = wp_load_acquire(&local->head);
	/* [local_queue.8] acquire; pairs local_queue.3; upholds LocalQueue!NothingLost: the slots
	 * before it are written, and what their tasks carry. */
	tail = wp_load_acquire(&local->tail);
	return wp__local_queue_between(*head, tail);
}

/* How many may be stolen; the next slot does not count. 0 is true for the moment of the second
 * read. [any thread | wait-free] */
WP_INLINE uint32_t wp_local_queue_stealable(wp_local_queue *local)
{
	uint64_t head, many = wp__local_queue_look(local, &head);

	return (uint32_t)(many < WP_LOCAL_CAPACITY ? many : WP_LOCAL_CAPACITY);
}

WP_INLINE wp_mpsc_node *wp__local_queue_copy(wp_local_queue *local,
					     uint64_t index) /* [any thread | wait-free] */
{
	/* [local_queue.9] relaxed: ordered by local_queue.8, and if it was written again
	 * local_queue.10 is lost; pairs local_queue.2; upholds LocalQueue!NothingTwice. */
	return wp_load_relaxed(&local->slots[index % WP_LOCAL_CAPACITY]);
}

/* Takes what was copied. False: *head is where the ring begins now. [any thread | wait-free] */
WP_INLINE bool wp__local_queue_claim(wp_local_queue *local, uint64_t *head, uint64_t many)
{
	/* [local_queue.10] release; pairs local_queue.1, local_queue.4, local_queue.5,
	 * local_queue.7; upholds LocalQueue!NothingTwice: the copy comes before, and its owner
	 * writes the slots after. */
	return wp_cas_release(&local->head, head, wp__local_queue_after(*head, many));
}

/* The first goes to its thief, the others behind the tail of its own ring. [its thief |
 * wait-free] */
WP_INLINE wp_mpsc_node *wp__local_queue_copy_half(wp_local_queue *victim, uint64_t head,
						  uint64_t many, wp_local_queue *own, uint64_t tail)
{
	for (uint64_t at = 1; at < many; at++)
		wp__local_queue_put(own, tail + at - 1, wp__local_queue_copy(victim, head + at));
	return wp__local_queue_copy(victim, head);
}

/* Half of what is there, one of one, and no more than the own ring has room for. */
WP_INLINE uint64_t wp__local_queue_share(uint64_t many, uint64_t room)
{
	uint64_t half = many - many / 2;

	half = half < WP_LOCAL_HALF ? half : WP_LOCAL_HALF;
	return half < room + 1 ? half : room + 1;
}

/* Takes the older half of the victim's tasks, and says how many: *first is to be run, the others
 * are in the thief's own ring, and who sleeps is told as after a push. 0: the ring was empty;
 * *first is as it was. [the owner of `own` | lock-free] */
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

/* All that is there, the next slot too, goes to the global queue; it returns how many. For a
 * carrier that blocks; what comes after is its owner's, who looks whether it blocks. [any thread,
 * several at once | lock-free] */
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
