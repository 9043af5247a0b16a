/* SPDX-License-Identifier: Apache-2.0
 * channel.c - see channel.h. */
#include "sync/channel.h"

#include <stdlib.h>

void wp_channel_init(wp_channel *channel, void **slots, uint32_t capacity)
{
	wp_init(&channel->lock.state, 0);
	channel->is_closed = false;
	channel->capacity = capacity;
	channel->count = channel->oldest = 0;
	channel->slots = slots;
	channel->senders.first = channel->senders.last = NULL;
	channel->receivers.first = channel->receivers.last = NULL;
	channel->handed = 0;
	channel->returned = NULL;
	channel->own.is_used = false;
}

/* Frees the record of a returned item. [under the lock, or the only thread left] */
static void forget(wp_channel *channel, wp_returned *one)
{
	if (one == &channel->own)
		one->is_used = false;
	else
		free(one);
}

void wp_channel_fini(wp_channel *channel)
{
	while (channel->returned != NULL) {
		wp_returned *one = channel->returned;

		channel->returned = one->next;
		forget(channel, one);
	}
}

/* Returns a record for one returned item, or NULL if there is no memory now. [under the lock] */
static wp_returned *room(wp_channel *channel)
{
	if (channel->own.is_used) {
		return malloc(sizeof(wp_returned));
	}
	channel->own.is_used = true;
	return &channel->own;
}

/* Puts a returned item into the list, behind those that were handed over before it. Returns false
 * if there is no memory now. [under the lock] */
static bool keep(wp_channel *channel, void *item, uint32_t number)
{
	wp_returned *one = room(channel), **at = &channel->returned;

	if (one == NULL)
		return false;
	while (*at != NULL && number - (*at)->number < UINT32_MAX / 2)
		at = &(*at)->next;
	one->item = item;
	one->number = number;
	one->next = *at;
	*at = one;
	return true;
}

/* Takes the oldest returned item, of which there is one. [under the lock] */
static void *take_returned(wp_channel *channel)
{
	wp_returned *one = channel->returned;
	void *item = one->item;

	channel->returned = one->next;
	forget(channel, one);
	return item;
}

/* Stores an item in a free slot, of which there is one. [under the lock] */
static void put(wp_channel *channel, void *item)
{
	uint64_t at = (uint64_t)channel->oldest + channel->count;

	channel->slots[at < (uint64_t)channel->capacity ? at : at - channel->capacity] = item;
	channel->count++;
}

/* Takes the oldest item out of the slots, which are not empty. [under the lock] */
static void *take(wp_channel *channel)
{
	void *item = channel->slots[channel->oldest];

	if (++channel->oldest == channel->capacity)
		channel->oldest = 0;
	channel->count--;
	return item;
}

/* Removes the first waiter from the queue and returns it, or returns NULL. [under the lock] */
static wp_waiter *serve(wp_wait_queue *line)
{
	wp_waiter *first = line->first;

	if (first != NULL)
		wp__wait_queue_remove(first);
	return first;
}

/* Gives the item to the first waiting receiver and returns that receiver; the caller must grant it
 * after it has released the lock. Returns NULL if no receiver waits. [under the lock] */
static wp_waiter *hand_over(wp_channel *channel, void *item)
{
	wp_waiter *first = serve(&channel->receivers);

	if (first != NULL) {
		first->value = item;
		first->amount = channel->handed++;
	}
	return first;
}

/* Puts back the item that was given to a receiver which will not run any more. Retries while there
 * is no memory. [the close of its group | blocks briefly, longer if memory is short] */
static void give_back(wp_channel *channel, const wp_waiter *waiter)
{
	for (bool is_kept = false; !is_kept;) {
		wp_waiter *served;

		wp_short_lock_acquire(&channel->lock);
		served = hand_over(channel, waiter->value);
		is_kept = served != NULL || keep(channel, waiter->value, waiter->amount);
		wp_short_lock_release(&channel->lock);
		if (served != NULL)
			wp__waiter_grant(served);
		if (!is_kept)
			wp_yield();
	}
}

/* Returns true if the waiter is in its line, and does `then` to it. Else it was taken off, and this
 * waits for its grant. [the waiter's thread, or the close of its group | blocks briefly] */
static bool if_in_line(wp_channel *channel, wp_waiter *waiter, void (*then)(wp_waiter *waiter))
{
	bool is_in_line;

	wp_short_lock_acquire(&channel->lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line)
		then(waiter);
	wp_short_lock_release(&channel->lock);
	if (!is_in_line)
		wp__waiter_await(waiter);
	return is_in_line;
}

bool wp__channel_check(wp_channel *channel, wp_waiter *waiter)
{
	if (!wp__waiter_is_granted(waiter) &&
	    (waiter->thread == NULL || if_in_line(channel, waiter, wp__waiter_renew)))
		return false;
	wp__waiter_over(waiter);
	return true;
}

bool wp__channel_cancel(wp_channel *channel, wp_waiter *waiter)
{
	bool is_in_line = if_in_line(channel, waiter, wp__wait_queue_remove);

	wp__waiter_over(waiter);
	return is_in_line;
}

/* The `leave` of a waiting sender (wait_queue.h). A granted sender has nothing to give back,
 * because its item is gone already. */
static void leave_senders(wp_waiter *waiter)
{
	wp__channel_cancel(waiter->object, waiter);
}

static void leave_receivers(wp_waiter *waiter)
{
	wp_channel *channel = waiter->object;

	if (!wp__channel_cancel(channel, waiter) && waiter->result == WP_OK)
		give_back(channel, waiter);
}

/* Tries once to send. Returns WP_MUST_PARK if the thread would have to wait. *served is the waiter
 * that the caller must grant after it has released the lock, or NULL. [under the lock] */
static int send_now(wp_channel *channel, void *item, wp_waiter **served)
{
	if (channel->is_closed)
		return WP_CLOSED;
	*served = hand_over(channel, item);
	if (*served != NULL)
		return WP_OK;
	if (channel->count < channel->capacity)
		put(channel, item);
	else
		return WP_MUST_PARK;
	return WP_OK;
}

static int receive_now(wp_channel *channel, void **item, wp_waiter **served)
{
	if (channel->returned != NULL) {
		*item = take_returned(channel);
		return WP_OK;
	}
	if (channel->count > 0) {
		*item = take(channel);
		*served = serve(&channel->senders);
		if (*served != NULL)
			put(channel, (*served)->value);
		return WP_OK;
	}
	*served = serve(&channel->senders);
	if (*served == NULL)
		return channel->is_closed ? WP_CLOSED : WP_MUST_PARK;
	*item = (*served)->value;
	return WP_OK;
}

/* Sends, or appends the waiter to the line. A waiter that is not made yet becomes the calling
 * thread's: few sends wait, and only these make one. */
WP_INLINE int begin_send(wp_channel *channel, void *item, wp_waiter *waiter, bool is_made)
{
	wp_waiter *served = NULL;
	int rc;

	wp_short_lock_acquire(&channel->lock);
	rc = send_now(channel, item, &served);
	if (rc == WP_MUST_PARK && waiter != NULL) {
		if (!is_made)
			wp__waiter_init_self(waiter, WP_WAIT_SEND);
		waiter->value = item;
		wp__waiter_stands(waiter, leave_senders, channel);
		wp__wait_queue_add(&channel->senders, waiter);
	}
	wp_short_lock_release(&channel->lock);
	if (served != NULL)
		wp__waiter_grant(served);
	return rc;
}

WP_INLINE int begin_receive(wp_channel *channel, void **item, wp_waiter *waiter, bool is_made)
{
	wp_waiter *served = NULL;
	int rc;

	wp_short_lock_acquire(&channel->lock);
	rc = receive_now(channel, item, &served);
	if (rc == WP_MUST_PARK && waiter != NULL) {
		if (!is_made)
			wp__waiter_init_self(waiter, WP_WAIT_RECEIVE);
		wp__waiter_stands(waiter, leave_receivers, channel);
		wp__wait_queue_add(&channel->receivers, waiter);
	}
	wp_short_lock_release(&channel->lock);
	if (served != NULL)
		wp__waiter_grant(served);
	return rc;
}

int wp__channel_begin_send(wp_channel *channel, void *item, wp_waiter *waiter)
{
	return begin_send(channel, item, waiter, true);
}

int wp__channel_begin_receive(wp_channel *channel, void **item, wp_waiter *waiter)
{
	return begin_receive(channel, item, waiter, true);
}

int wp_channel_try_send(wp_channel *channel, void *item)
{
	int rc = wp__channel_begin_send(channel, item, NULL);

	return rc == WP_MUST_PARK ? WP_TIMEOUT : rc;
}

int wp_channel_try_receive(wp_channel *channel, void **item)
{
	int rc = wp__channel_begin_receive(channel, item, NULL);

	return rc == WP_MUST_PARK ? WP_TIMEOUT : rc;
}

/* Empties the queue and returns its waiters as a chain in order, each with the result WP_CLOSED.
 * [under the lock] */
static wp_waiter *dismiss(wp_wait_queue *line)
{
	wp_waiter *chain = NULL, **end = &chain, *first;

	while ((first = serve(line)) != NULL) {
		first->result = WP_CLOSED;
		*end = first;
		end = &first->next;
	}
	return chain;
}

void wp_channel_close(wp_channel *channel)
{
	wp_waiter *senders, *receivers;

	wp_short_lock_acquire(&channel->lock);
	channel->is_closed = true;
	senders = dismiss(&channel->senders);
	receivers = dismiss(&channel->receivers);
	wp_short_lock_release(&channel->lock);
	wp__waiter_grant_all(senders);
	wp__waiter_grant_all(receivers);
}

uint32_t wp_channel_count(wp_channel *channel)
{
	uint32_t count;

	wp_short_lock_acquire(&channel->lock);
	count = channel->count;
	for (const wp_returned *one = channel->returned; one != NULL; one = one->next)
		count++;
	wp_short_lock_release(&channel->lock);
	return count;
}

int wp__channel_wait(wp_channel *channel, wp_waiter *waiter, int64_t deadline_ns)
{
	do {
		int rc = wp__waiter_park(waiter, deadline_ns);

		if (rc != WP_OK)
			return wp__channel_cancel(channel, waiter) ? rc : waiter->result;
	} while (!wp__channel_check(channel, waiter));
	return waiter->result;
}

WP_INLINE int sends(wp_channel *channel, void *item, wp_waiter *waiter, bool is_made,
		    int64_t deadline_ns)
{
	int rc = begin_send(channel, item, waiter, is_made);

	return rc == WP_MUST_PARK ? wp__channel_wait(channel, waiter, deadline_ns) : rc;
}

WP_INLINE int receives(wp_channel *channel, void **item, wp_waiter *waiter, bool is_made,
		       int64_t deadline_ns)
{
	int rc = begin_receive(channel, item, waiter, is_made);

	if (rc != WP_MUST_PARK)
		return rc;
	rc = wp__channel_wait(channel, waiter, deadline_ns);
	if (rc == WP_OK)
		*item = waiter->value;
	return rc;
}

int wp__channel_send(wp_channel *channel, void *item, wp_waiter *waiter, int64_t deadline_ns)
{
	return sends(channel, item, waiter, true, deadline_ns);
}

int wp__channel_receive(wp_channel *channel, void **item, wp_waiter *waiter, int64_t deadline_ns)
{
	return receives(channel, item, waiter, true, deadline_ns);
}

int wp_channel_send_until(wp_channel *channel, void *item, int64_t deadline_ns)
{
	wp_waiter waiter;

	return sends(channel, item, &waiter, false, deadline_ns);
}

int wp_channel_receive_until(wp_channel *channel, void **item, int64_t deadline_ns)
{
	wp_waiter waiter;

	return receives(channel, item, &waiter, false, deadline_ns);
}
