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

		wp_lock_acquire(&channel->lock);
		served = hand_over(channel, waiter->value);
		is_kept = served != NULL || keep(channel, waiter->value, waiter->amount);
		wp_lock_release(&channel->lock);
		if (served != NULL)
			wp__waiter_grant(served);
		if (!is_kept)
			wp_yield();
	}
}

/* The `leave` of a waiting sender (wait_queue.h). A granted sender has nothing to give back,
 * because its item is gone already. */
static void leave_senders(wp_waiter *waiter)
{
	wp_channel *channel = waiter->object;

	wp__waiter_cancel(&channel->lock, waiter);
}

static void leave_receivers(wp_waiter *waiter)
{
	wp_channel *channel = waiter->object;

	if (!wp__waiter_cancel(&channel->lock, waiter) && waiter->result == WP_OK)
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

int wp__channel_begin_send(wp_channel *channel, void *item, wp_waiter *waiter)
{
	wp_waiter *served = NULL;
	int rc;

	wp_lock_acquire(&channel->lock);
	rc = send_now(channel, item, &served);
	if (rc == WP_MUST_PARK && waiter != NULL) {
		waiter->value = item;
		wp__waiter_stands(waiter, leave_senders, channel);
		wp__wait_queue_add(&channel->senders, waiter);
	}
	wp_lock_release(&channel->lock);
	if (served != NULL)
		wp__waiter_grant(served);
	return rc;
}

int wp__channel_begin_receive(wp_channel *channel, void **item, wp_waiter *waiter)
{
	wp_waiter *served = NULL;
	int rc;

	wp_lock_acquire(&channel->lock);
	rc = receive_now(channel, item, &served);
	if (rc == WP_MUST_PARK && waiter != NULL) {
		wp__waiter_stands(waiter, leave_receivers, channel);
		wp__wait_queue_add(&channel->receivers, waiter);
	}
	wp_lock_release(&channel->lock);
	if (served != NULL)
		wp__waiter_grant(served);
	return rc;
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

	wp_lock_acquire(&channel->lock);
	channel->is_closed = true;
	senders = dismiss(&channel->senders);
	receivers = dismiss(&channel->receivers);
	wp_lock_release(&channel->lock);
	wp__waiter_grant_all(senders);
	wp__waiter_grant_all(receivers);
}

uint32_t wp_channel_count(wp_channel *channel)
{
	uint32_t count;

	wp_lock_acquire(&channel->lock);
	count = channel->count;
	for (const wp_returned *one = channel->returned; one != NULL; one = one->next)
		count++;
	wp_lock_release(&channel->lock);
	return count;
}

int wp__channel_send(wp_channel *channel, void *item, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc = wp__channel_begin_send(channel, item, waiter);

	if (rc != WP_MUST_PARK)
		return rc;
	rc = wp__waiter_wait(&channel->lock, waiter, deadline_ns);
	return rc == WP_OK ? waiter->result : rc;
}

int wp__channel_receive(wp_channel *channel, void **item, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc = wp__channel_begin_receive(channel, item, waiter);

	if (rc != WP_MUST_PARK)
		return rc;
	rc = wp__waiter_wait(&channel->lock, waiter, deadline_ns);
	if (rc == WP_OK && waiter->result == WP_OK)
		*item = waiter->value;
	return rc == WP_OK ? waiter->result : rc;
}

int wp_channel_send_until(wp_channel *channel, void *item, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_SEND);
	return wp__channel_send(channel, item, &waiter, deadline_ns);
}

int wp_channel_receive_until(wp_channel *channel, void **item, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_RECEIVE);
	return wp__channel_receive(channel, item, &waiter, deadline_ns);
}
