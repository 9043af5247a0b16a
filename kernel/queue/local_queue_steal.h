/* SPDX-License-Identifier: Apache-2.0
 * local_queue_steal.h - what others do to a bounded run queue: ask, steal half, hand all over. local_queue.h says
 * how.
 *
 * Spec      specs/Local.tla.  Evidence  as there. */
#ifndef WP_LOCAL_STEAL_H
#define WP_LOCAL_STEAL_H

#include "queue/local_queue.h"

/* Tasks in the ring, and where it began. First head, then tail: the other way round, tasks may come
 * and go between the reads, and it would look empty. [any thread | wait-free] */
WP_INLINE uint64_t wp__local_look(wp_local_queue *local, uint64_t *head)
{
	uint64_t tail = 0;

	if (wp_twin(local_asks_tail_first))
		tail = wp_load_acquire(&local->tail); /* twin of B8 */
	/* [B7] acquire; pairs B4, B10; upholds Local!EmptyIsTrue: the tail is not older. */
	*head = wp_load_acquire(&local->head);
	if (!wp_twin(local_asks_tail_first))
		/* [B8] acquire; pairs B3; upholds Local!NothingLost: the slots before it are
		 * written, and what their tasks carry. */
		tail = wp_load_acquire(&local->tail);
	return wp__local_between(*head, tail);
}

/* How many may be stolen; the next slot does not count. 0 is true for the moment of the second
 * read. [any thread | wait-free] */
WP_INLINE uint32_t wp_local_stealable(wp_local_queue *local)
{
	uint64_t head, many = wp__local_look(local, &head);

	return (uint32_t)(many < WP_LOCAL_CAPACITY ? many : WP_LOCAL_CAPACITY);
}

WP_INLINE wp_mpsc_node *wp__local_copy(wp_local_queue *local, uint64_t index) /* [any thread | wait-free] */
{
	/* [B9] relaxed: ordered by B8, and if it was written again B10 is lost; pairs B2; upholds
	 * Local!NothingTwice. */
	return wp_load_relaxed(&local->slots[index % WP_LOCAL_CAPACITY]);
}

/* Takes what was copied. False: *head is where the ring begins now. [any thread | wait-free] */
WP_INLINE bool wp__local_claim(wp_local_queue *local, uint64_t *head, uint64_t many)
{
	/* [B10] release; pairs B1, B4, B5, B7; upholds Local!NothingTwice: the copy comes before,
	 * and its owner writes the slots after. */
	return wp_cas_release(&local->head, head, wp__local_after(*head, many));
}

/* The first goes to its thief, the others behind the tail of its own ring. [its thief | wait-free] */
WP_INLINE wp_mpsc_node *wp__local_copy_half(wp_local_queue *victim, uint64_t head, uint64_t many,
					    wp_local_queue *own, uint64_t tail)
{
	for (uint64_t at = 1; at < many; at++)
		wp__local_put(own, tail + at - 1, wp__local_copy(victim, head + at));
	return wp__local_copy(victim, head);
}

/* Half of what is there, one of one, and no more than the own ring has room for. */
WP_INLINE uint64_t wp__local_share(uint64_t many, uint64_t room)
{
	uint64_t half = many - many / 2;

	half = half < WP_LOCAL_HALF ? half : WP_LOCAL_HALF;
	return half < room + 1 || wp_twin(local_no_room) ? half : room + 1;
}

/* Takes the older half of the victim's tasks, and says how many: *first is to be run, the others are
 * in the thief's own ring, and who sleeps is told as after a push. 0: the ring was empty; *first is
 * as it was. [the owner of `own` | lock-free] */
WP_INLINE uint32_t wp_local_steal(wp_local_queue *victim, wp_local_queue *own, wp_mpsc_node **first)
{
	uint64_t tail = wp__local_tail(own), ours, theirs, many;
	wp_mpsc_node *oldest = NULL;

	wp__local_is_full(own, &ours);
	while ((many = wp__local_look(victim, &theirs)) > 0) {
		many = wp__local_share(many, WP_LOCAL_CAPACITY - wp__local_between(ours, tail));
		if (!wp_twin(local_claims_first))
			oldest = wp__local_copy_half(victim, theirs, many, own, tail);
		if (wp_twin(local_loot_shown) && many > 1)
			wp__local_show(own, wp__local_after(tail, many - 1));
		if (!wp__local_claim(victim, &theirs, many))
			continue;
		if (wp_twin(local_claims_first))
			oldest = wp__local_copy_half(victim, theirs, many, own, tail);
		if (many > 1)
			wp__local_show(own, wp__local_after(tail, many - 1));
		*first = oldest;
		return (uint32_t)many;
	}
	return 0;
}

/* All that is there, the next slot too, goes to the global queue; it returns how many. For a carrier
 * that blocks; what comes after is its owner's, who looks whether it blocks. [any thread, several at
 * once | lock-free] */
WP_INLINE uint32_t wp_local_hand_over(wp_local_queue *local, wp_mpsc *global)
{
	wp_mpsc_node *oldest[WP_LOCAL_HALF], *next = wp__local_take_next(local);
	uint32_t moved = next != NULL;
	uint64_t head, many;

	if (next != NULL)
		wp_mpsc_push(global, next);
	while ((many = wp__local_look(local, &head)) > 0) {
		many = many < WP_LOCAL_HALF ? many : WP_LOCAL_HALF;
		for (uint64_t at = 0; at < many; at++)
			oldest[at] = wp__local_copy(local, head + at);
		if (!wp__local_claim(local, &head, many))
			continue;
		wp__local_spill(global, oldest, many);
		moved += (uint32_t)many;
		if (wp_twin(local_hand_over_once))
			break;
	}
	return moved;
}

#endif
