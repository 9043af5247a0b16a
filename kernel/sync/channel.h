/* SPDX-License-Identifier: Apache-2.0
 * channel.h - a bounded FIFO of pointers between virtual and OS threads; no slots: a rendezvous.
 *
 *   send, under the lock                      receive, under the lock
 *   closed: WP_CLOSED                         an item in a slot: take the oldest, and
 *   a receiver waits: give it the item          put the first waiting sender's in its place
 *   a free slot: put it there                 a sender waits: take its item
 *   else get in line with it                  closed: WP_CLOSED; else get in line
 *   after the lock: grant whom it served      after the lock: grant whom it served
 *   parked, and granted: as the grant says    parked, and granted: the item, or WP_CLOSED
 *   too late, and still in line: out          too late, and still in line: out
 *
 * A close of a group hands a receiver back that was given an item and has not run: the item comes
 * back, goes to the first receiver that waits, or is received before all that is in slots, in the
 * order of the sends; so it is with a rendezvous, too, whose sender has gone on.
 *
 * Why it works  Everything happens under one lock. Who waits is in line, and only who is in line is
 *               given an item: one that gets out first gets none, one that is given an item cannot
 *               get out. Receivers wait only while there is no item, senders only while no slot is
 *               free.
 * Not promised  Fairness between try_ and those that wait for the lock.
 * Spec          specs/sync/Channel.tla: NothingLost, Fifo, NobodyWaitsForNothing, Served.
 * Evidence      make check-specs T=Channel, make stress T=channel, wakeproof conform -t channel. */
#ifndef WP_CHANNEL_H
#define WP_CHANNEL_H

#include "thread/wait_queue.h"

/* An item that has come back. */
typedef struct wp_returned {
	struct wp_returned *next;
	void *item;
	uint32_t number; /* of its hand-over */
	bool is_used;    /* the one that is the channel's own */
} wp_returned;

/* 112 bytes, all under the lock. */
typedef struct wp_channel {
	wp_lock lock;
	bool is_closed;
	uint32_t capacity; /* slots */
	uint32_t count;    /* items in them */
	uint32_t oldest;   /* where */
	void **slots;
	wp_wait_queue senders, receivers;
	uint32_t handed;       /* hand-overs to receivers that waited */
	wp_returned *returned; /* the oldest first */
	wp_returned own;       /* the first that comes back; the others: allocated */
} wp_channel;

/* slots: room for `capacity` pointers, the caller's, or NULL for none. [before it is shared |
 * wait-free] */
WP_API void wp_channel_init(wp_channel *channel, void **slots, uint32_t capacity);

/* Before its memory goes: nobody uses it any more. Needed where the close of a group may have
 * handed a receiver back. [one thread | frees] */
WP_API void wp_channel_fini(wp_channel *channel);

/* cdef: begin */
/* WP_OK, WP_CLOSED, or WP_TIMEOUT: it would have to wait. [any thread | blocks shortly] */
WP_API int wp_channel_try_send(wp_channel *channel, void *item);
WP_API int wp_channel_try_receive(wp_channel *channel, void **item);

/* Nothing can be sent any more; what is in its slots, or has come back, can be received. Senders
 * that wait keep their items. Again is harmless. [any thread | blocks shortly] */
WP_API void wp_channel_close(wp_channel *channel);

/* Items in its slots, and those that have come back. [any thread | blocks shortly] */
WP_API uint32_t wp_channel_count(wp_channel *channel);

/* WP_OK, WP_CLOSED, or WP_MUST_PARK: in line, park. Granted (wp__waiter_check, under
 * channel->lock): its result says which of the first two, its value is what was received. [any
 * thread | blocks shortly]
 */
int wp__channel_begin_send(wp_channel *channel, void *item, wp_waiter *waiter);
int wp__channel_begin_receive(wp_channel *channel, void **item, wp_waiter *waiter);
/* cdef: end */

/* All as one: WP_OK, WP_CLOSED; WP_TIMEOUT, WP_INTERRUPTED: nothing was sent or received. [any
 * thread | blocks] */
int wp__channel_send(wp_channel *channel, void *item, wp_waiter *waiter, int64_t deadline_ns);
int wp__channel_receive(wp_channel *channel, void **item, wp_waiter *waiter, int64_t deadline_ns);
/* cdef: begin */
WP_API int wp_channel_send_until(wp_channel *channel, void *item, int64_t deadline_ns);
WP_API int wp_channel_receive_until(wp_channel *channel, void **item, int64_t deadline_ns);
/* cdef: end */

#endif
