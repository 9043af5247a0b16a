/* SPDX-License-Identifier: Apache-2.0
 * channel.h - a bounded FIFO channel of pointers between virtual and OS threads.
 *
 * With no slots it is a rendezvous: a send waits for a receive.
 *
 *   send, under the lock                      receive, under the lock
 *   channel closed: WP_CLOSED                 an item in a slot: take the oldest, and put the
 *   a receiver waits: give it the item          item of the first waiting sender in its place
 *   a slot is free: store the item there      a sender waits: take its item
 *   else enqueue this sender with its item    closed: WP_CLOSED; else enqueue this receiver
 *   lock released: grant the receiver         lock released: grant the sender
 *   parked and granted: WP_OK or WP_CLOSED    parked and granted: the item, or WP_CLOSED
 *   deadline passed and still queued: leave   deadline passed and still queued: leave
 *
 * Usage         void *slots[16], *item;
 *               wp_channel_init(&channel, slots, 16);
 *               wp_channel_send_until(&channel, work, WP_FOREVER);                 in one thread
 *               while (wp_channel_receive_until(&channel, &item, WP_FOREVER) == WP_OK)
 *                       handle(item);                                              in another
 *
 * Returned      The close of a group hands back the threads that will not run any more. If such a
 *               thread is a receiver that was given an item, the item returns to the channel. It
 *               goes to the first waiting receiver; if none waits, it is received before everything
 *               in the slots, in the order of the sends. This also holds for a channel without
 *               slots, although the sender has continued by then.
 * Why it works  Everything happens under one lock. Only a waiter in a queue is given an item. So a
 *               waiter that leaves its queue first gets none, and a waiter that was given one can
 *               no longer leave. Receivers wait only while there is no item, and senders only while
 *               no slot is free.
 * Prior art     Go's channels, which hand an item to a waiting receiver in the same way; with no
 *               slots, Java's SynchronousQueue.
 *               A critical section is some ten instructions, so the lock is one that spins
 *               (short_lock.h): of the two locked instructions of a futex's lock, only the
 *               acquisition's is left.
 * Not promised  There is no fairness between the try_ functions and the threads that wait for the
 *               lock.
 * Spec          specs/sync/Channel.tla: NothingLost, Fifo, NobodyWaitsForNothing, Served.
 * Evidence      make check-specs T=Channel, make stress T=channel, wakeproof conform -t channel. */
#ifndef WP_CHANNEL_H
#define WP_CHANNEL_H

#include "base/short_lock.h"
#include "thread/wait_queue.h"

/* An item that returned to the channel, because its receiver will not run any more. */
typedef struct wp_returned {
	struct wp_returned *next;
	void *item;
	uint32_t number; /* of its hand-over */
	bool is_used;    /* only for wp_channel's `own`: it holds an item */
} wp_returned;

/* 112 bytes. The lock guards all other fields. */
typedef struct wp_channel {
	wp_short_lock lock;
	bool is_closed;
	uint32_t capacity; /* number of slots */
	uint32_t count;    /* number of items in the slots */
	uint32_t oldest;   /* index of the oldest item */
	void **slots;
	wp_wait_queue senders, receivers;
	uint32_t handed;       /* items handed to waiting receivers so far */
	wp_returned *returned; /* returned items, oldest first */
	wp_returned own;       /* of the first returned item; later ones are allocated */
} wp_channel;

/* Makes an empty channel. `slots` is the caller's memory for `capacity` pointers, or NULL if
 * capacity is 0. [one thread, before the channel is shared | wait-free] */
WP_API void wp_channel_init(wp_channel *channel, void **slots, uint32_t capacity);

/* Call this before the channel's memory is deallocated, when no thread uses the channel any more.
 * It is needed only if the close of a group may have handed back a receiver. [one thread | frees
 * memory] */
WP_API void wp_channel_fini(wp_channel *channel);

/* cdef: begin */
/* Returns WP_OK, WP_CLOSED, or WP_TIMEOUT if the call would have to wait. [any thread | blocks
 * briefly] */
WP_API int wp_channel_try_send(wp_channel *channel, void *item);
WP_API int wp_channel_try_receive(wp_channel *channel, void **item);

/* Ends sending. Items in the slots, and items that returned, can still be received. Waiting senders
 * get WP_CLOSED, and their items are not sent. A second close does nothing. [any thread | blocks
 * briefly] */
WP_API void wp_channel_close(wp_channel *channel);

/* Returns the number of items in the slots plus those that returned. [any thread | blocks briefly]
 */
WP_API uint32_t wp_channel_count(wp_channel *channel);

/* Begins. Returns WP_OK, WP_CLOSED or WP_MUST_PARK. WP_MUST_PARK: the waiter is in a queue, and its
 * thread must park. When wp__channel_check returns that the waiter is granted, waiter->result is
 * WP_OK or WP_CLOSED, and waiter->value is the received item. [any thread | blocks briefly] */
int wp__channel_begin_send(wp_channel *channel, void *item, wp_waiter *waiter);
int wp__channel_begin_receive(wp_channel *channel, void **item, wp_waiter *waiter);

/* As wp__waiter_check and wp__waiter_cancel. [the waiter's thread | blocks briefly] */
bool wp__channel_check(wp_channel *channel, wp_waiter *waiter);
bool wp__channel_cancel(wp_channel *channel, wp_waiter *waiter);
/* cdef: end */

/* Waits with a waiter that is in line. Returns waiter->result, or WP_TIMEOUT or WP_INTERRUPTED if it
 * has left the line. [the waiter's thread | blocks] */
int wp__channel_wait(wp_channel *channel, wp_waiter *waiter, int64_t deadline_ns);

/* The complete operations, like wp_channel_send_until and wp_channel_receive_until. [any thread |
 * blocks] */
int wp__channel_send(wp_channel *channel, void *item, wp_waiter *waiter, int64_t deadline_ns);
int wp__channel_receive(wp_channel *channel, void **item, wp_waiter *waiter, int64_t deadline_ns);
/* cdef: begin */
/* Send or receive one item, and wait for that if they must. They return WP_OK or WP_CLOSED. If they
 * return WP_TIMEOUT or WP_INTERRUPTED, nothing was sent or received. [any thread | blocks] */
WP_API int wp_channel_send_until(wp_channel *channel, void *item, int64_t deadline_ns);
WP_API int wp_channel_receive_until(wp_channel *channel, void **item, int64_t deadline_ns);
/* cdef: end */

#endif
