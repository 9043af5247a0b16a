/* SPDX-License-Identifier: Apache-2.0
 * mpsc.h - unbounded FIFO run queue for many producers and one consumer: a variant of Vyukov's
 * intrusive MPSC queue without a stub node. Push never fails.
 *
 *   producer                                     consumer
 *   [mpsc.1] node.next := 0                      [mpsc.15] n := head; 0: [mpsc.4] first; 0: NULL
 *   [mpsc.2] cell := exchange(tail, &node.next)            [mpsc.13] head := n, [mpsc.8] first := 0
 *            reserved, not published yet         [mpsc.5] n.next # 0: [mpsc.6] head := it, take n
 *   [mpsc.3] *cell := node: published            [mpsc.7] else tail from &n.next back to &first,
 *                                                         [mpsc.6] head := 0, take n; fails: a push
 *                                                         stalled before mpsc.3 holds n's cell
 *
 *   Usage    wp_mpsc_push(&queue, &job->node);    any thread; afterwards it signals the consumer
 *            node = wp_mpsc_pop(&queue);          the consumer; NULL: nothing can be taken now
 *            count = wp_mpsc_pop_many(&queue, nodes, 32);      or several, if it can use them
 *
 * The queue is a chain of link cells: `first`, and then the `next` of each node. `tail` names the
 * last cell. A push has two steps: it reserves a place (mpsc.2), and then publishes its node
 * (mpsc.3). If a producer is descheduled between the two, its push is stalled: it hides the nodes
 * behind it. The front of the chain is in the queue itself: a producer writes it to `first`, and
 * the consumer adopts it, which means that it moves it to `head`. A sibling, a carrier that may
 * steal from this queue, calls has_published. That reads the queue and never a node, which the
 * node's owner might free meanwhile.
 *
 * Why it works  mpsc.2 gives each cell to one producer, so each cell is written once, and the order
 *               of mpsc.2 is the FIFO order. The consumer gives a node away only when no producer
 *               holds the cell of the node: either the next node is linked (mpsc.5), or the tail
 *               has moved back (mpsc.7). Until mpsc.7 no producer can get &first, so mpsc.8, which
 *               comes before it, is a plain store. mpsc.13 comes before mpsc.8, and siblings read
 *               `first` before `head`, so they never miss a node in between.
 * Two questions has_published reads the published end of the queue, to answer "May I sleep?" and
 *               "Is there something to steal?". is_quiescent reads the reserving end, to answer
 *               "May I close?". A consumer may sleep although a push is stalled, because every
 *               producer signals after mpsc.3, and so does the stalled one.
 * Not promised  pop may fail although has_published is true: a stalled push keeps the last node
 *               from being taken until its producer reaches mpsc.3. Meanwhile the owner and idle
 *               siblings poll, and yield their CPUs.
 * Prior art     Vyukov's intrusive MPSC node-based queue; JCTools' MpscLinkedQueue calls the
 *               stalled push a bubble.
 * Spec          specs/queue/Mpsc.tla: Fifo, NoLoss, EmptyIsTrue, PushNeverFails.
 * Evidence      make check-specs T=Mpsc, make stress T=mpsc, make bench T=mpsc. */
#ifndef WP_MPSC_H
#define WP_MPSC_H

#include <stddef.h>

#include "base/order.h"

/* 8 bytes, embedded in the queued object. `next` is written by the node's producer (mpsc.1) and by
 * the next producer (mpsc.3). */
typedef struct wp_mpsc_node {
	wp_atomic(struct wp_mpsc_node *) next;
} wp_mpsc_node;

typedef wp_atomic(wp_mpsc_node *) wp_mpsc_cell;

/* 256 bytes, because each end has cache lines of its own. `tail` is written by producers (mpsc.2)
 * and the consumer (mpsc.7); `first` by the producer that finds the queue empty (mpsc.3) and the
 * consumer (mpsc.8); `head` by the consumer (mpsc.6, mpsc.13). */
typedef struct wp_mpsc {
	_Alignas(WP_LINE) wp_atomic(wp_mpsc_cell *) tail;
	_Alignas(WP_LINE) wp_mpsc_cell first;
	wp_atomic(wp_mpsc_node *) head;
} wp_mpsc;

_Static_assert(offsetof(wp_mpsc, first) - offsetof(wp_mpsc, tail) >= WP_LINE, "ends share a line");

/* Makes an empty queue. [one thread, before the queue is shared | wait-free] */
WP_API_INLINE void wp_mpsc_init(wp_mpsc *queue)
{
	wp_init(&queue->first, NULL);
	wp_init(&queue->head, NULL);
	wp_init(&queue->tail, &queue->first);
}

/* The first step of a push: reserves a place in the order. [any thread | wait-free] */
WP_INLINE wp_mpsc_cell *wp__mpsc_reserve(wp_mpsc *queue, wp_mpsc_node *node)
{
	/* [mpsc.1] relaxed: ordered by mpsc.2, which hands the cell on; pairs mpsc.5; upholds
	 * Mpsc!NoLoss. */
	wp_store_relaxed(&node->next, NULL);
	/* [mpsc.2] acq_rel; pairs mpsc.2, mpsc.7, mpsc.10, mpsc.12, mpsc.14, mpsc.16; upholds
	 * Mpsc!Fifo: it releases our mpsc.1, and acquires the mpsc.1 of the cell's owner, so that
	 * mpsc.3 comes after it. */
	return wp_exchange_acq_rel(&queue->tail, &node->next);
}

/* The second step of a push: publishes the node, so that the consumer can find it. [the thread that
 * reserved | wait-free] */
WP_INLINE void wp__mpsc_publish(wp_mpsc_cell *cell, wp_mpsc_node *node)
{
	/* [mpsc.3] release; pairs mpsc.4, mpsc.5, mpsc.9; upholds Mpsc!NoLoss: what the node
	 * carries is written before. */
	wp_store_release(cell, node);
}

/* Appends the node, which must be in no queue. Never allocates, never fails.
 * [any thread | wait-free] */
WP_API_INLINE void wp_mpsc_push(wp_mpsc *queue, wp_mpsc_node *node)
{
	wp__mpsc_publish(wp__mpsc_reserve(queue, node), node);
}

/* Moves the tail back from the last node to &first. Returns false if a stalled push holds the cell
 * of the node. [the consumer | wait-free] */
WP_INLINE bool wp__mpsc_unlink_last(wp_mpsc *queue, wp_mpsc_node *node)
{
	wp_mpsc_cell *behind = &node->next;

	/* [mpsc.16] relaxed: a tail that is stale costs a NULL, never a node, because mpsc.7
	 * decides; pairs mpsc.2; upholds Mpsc!NoLoss. The load detects a stalled push without
	 * taking the cache line away from the producers. */
	if (wp_load_relaxed(&queue->tail) != behind)
		return false;
	/* [mpsc.7] release; pairs mpsc.2, mpsc.10, mpsc.12; upholds Mpsc!NoLoss: a producer that
	 * gets &first writes it after our mpsc.8. */
	if (!wp_cas_release(&queue->tail, &behind, &queue->first))
		return false;
	return true;
}

/* Adopts the node in `first` as the head. Returns NULL if nothing is published. [the consumer |
 * wait-free] */
WP_INLINE wp_mpsc_node *wp__mpsc_adopt(wp_mpsc *queue)
{
	/* [mpsc.4] acquire; pairs mpsc.3; upholds Mpsc!NoLoss. */
	wp_mpsc_node *node = wp_load_acquire(&queue->first);

	if (node == NULL)
		return NULL;
	/* [mpsc.13] relaxed: ordered by mpsc.8, because a reader that sees the cell empty sees this
	 * store; pairs mpsc.11; upholds Mpsc!EmptyIsTrue. */
	wp_store_relaxed(&queue->head, node);
	/* [mpsc.8] release; pairs mpsc.9; upholds Mpsc!EmptyIsTrue: a reader that sees the cell
	 * empty sees mpsc.13. A store is enough, because until mpsc.7 no producer holds this cell.
	 */
	wp_store_release(&queue->first, NULL);
	return node;
}

/* Takes the oldest node; the last one only if `takes_last`. [the consumer | wait-free] */
WP_INLINE wp_mpsc_node *wp__mpsc_take(wp_mpsc *queue, bool takes_last)
{
	/* [mpsc.15] relaxed: ordered by what makes one consumer follow the other, such as a lock;
	 * pairs mpsc.6; upholds Mpsc!Fifo. */
	wp_mpsc_node *node = wp_load_relaxed(&queue->head), *next;

	if (node == NULL)
		node = wp__mpsc_adopt(queue);
	if (node == NULL)
		return NULL;
	/* [mpsc.5] acquire; pairs mpsc.3, mpsc.1, local_queue.15; upholds Mpsc!Fifo: the next
	 * consumer gets what the next node carries. */
	next = wp_load_acquire(&node->next);
	if (next == NULL && !(takes_last && wp__mpsc_unlink_last(queue, node)))
		return NULL;
	/* [mpsc.6] release; pairs mpsc.11, mpsc.15; upholds Mpsc!Fifo: a thread that sees the next
	 * node at the head sees what this consumer did before, such as its store to its carrier's
	 * word. */
	wp_store_release(&queue->head, next);
	return node;
}

/* Takes the oldest node. Returns NULL if nothing is published at the head, or if a stalled push
 * keeps the only node there. The caller may push the node again, or free it, at once. [one consumer
 * at a time | wait-free] */
WP_API_INLINE wp_mpsc_node *wp_mpsc_pop(wp_mpsc *queue)
{
	return wp__mpsc_take(queue, true);
}

/* Takes up to `most` nodes, the oldest first, and returns how many. The last node of the queue is
 * taken only as the first of a call: to take it costs the producers their cache line, about 100 ns,
 * and often more nodes come while the others are used. So call it again until it returns 0. The
 * caller may push the nodes again, or free them, after the call. [one consumer at a time |
 * wait-free] */
WP_API_INLINE size_t wp_mpsc_pop_many(wp_mpsc *queue, wp_mpsc_node **nodes, size_t most)
{
	size_t count = 0;

	while (count < most && (nodes[count] = wp__mpsc_take(queue, count == 0)) != NULL)
		count++;
	return count;
}

/* Returns the published front of the queue, as an address that must not be read through. It reads
 * `first`, and then `head`. In the other order, the consumer could adopt a node between the two
 * reads, and the caller would miss the node. [any thread | wait-free, reads only the queue] */
WP_INLINE wp_mpsc_node *wp__mpsc_front(wp_mpsc *queue)
{
	/* [mpsc.9] acquire; pairs mpsc.3, mpsc.8; upholds Mpsc!EmptyIsTrue. */
	wp_mpsc_node *node = wp_load_acquire(&queue->first);

	if (node != NULL)
		return node;
	/* [mpsc.11] acquire; pairs mpsc.6, mpsc.13; upholds Search!WorkConservation: a searcher
	 * that finds that a carrier holds one task reads the carrier's word next. */
	return wp_load_acquire(&queue->head);
}

/* cdef: begin */
/* Returns true if the head of the queue is published, and for an instant also while the last node
 * is taken. False is exact in this sense: at the moment of the read, no published node was older
 * than every push that had reserved a place and was not finished. [any thread | wait-free, reads
 * only the queue] */
WP_API_INLINE bool wp_mpsc_has_published(wp_mpsc *queue)
{
	return wp__mpsc_front(queue) != NULL;
}

/* Returns true if every reserved push has been taken. [any thread | wait-free] */
WP_API_INLINE bool wp_mpsc_is_quiescent(wp_mpsc *queue)
{
	/* [mpsc.10] acquire; pairs mpsc.2, mpsc.7; upholds Search!WorkConservation: a thread that
	 * sees that the last node was taken sees what its taker did before, such as its store to
	 * its carrier's word. */
	return wp_load_acquire(&queue->tail) == &queue->first;
}
/* cdef: end */

/* Returns how many nodes are published: 0, 1, or 2 for two and more. A 1 was true at the last read:
 * the queue held one node and nothing else. There is one exception: the node may have been taken
 * and pushed again between the reads; but then this second push signals for itself. The order of
 * the reads matters: the front, and then the tail. [any thread | wait-free, reads only the queue]
 */
WP_API_INLINE int wp_mpsc_published(wp_mpsc *queue)
{
	wp_mpsc_node *node = wp__mpsc_front(queue);

	if (node == NULL)
		return 0;
	/* [mpsc.12] acquire; pairs mpsc.2, mpsc.7; upholds Search!WorkConservation: the node is
	 * only an address here. kept: a thread that sees the front has acquired its push already,
	 * and a node that was pushed again signals for itself; but with acquire the carrier's word
	 * is read after every count. */
	return wp_load_acquire(&queue->tail) == &node->next ? 1 : 2;
}

/* Returns true if the queue holds `node` and nothing else, in the same sense as a 1 of
 * wp_mpsc_published. [any thread | wait-free, reads only the queue] */
WP_API_INLINE bool wp_mpsc_is_alone(wp_mpsc *queue, wp_mpsc_node *node)
{
	return wp__mpsc_front(queue) == node &&
	       /* [mpsc.14] relaxed: ordered by the caller's fence; pairs mpsc.2; upholds
	        * Search!WorkConservation. */
	       wp_load_relaxed(&queue->tail) == &node->next;
}

#endif
