/* SPDX-License-Identifier: Apache-2.0
 * channel.c - see channel.h. */
#include "channel.h"

void wp_channel_init(wp_channel *channel, void **slots, uint32_t capacity)
{
	wp_init(&channel->lock.state, 0);
	channel->is_closed = false;
	channel->capacity = capacity;
	channel->count = channel->oldest = 0;
	channel->slots = slots;
	channel->senders.first = channel->senders.last = NULL;
	channel->receivers.first = channel->receivers.last = NULL;
}

/* Under the lock, with a free slot. */
static void put(wp_channel *channel, void *item)
{
	uint64_t at = (uint64_t)channel->oldest + channel->count;

	channel->slots[at < channel->capacity ? at : at - channel->capacity] = item;
	channel->count++;
}

/* Under the lock, with an item in a slot. */
static void *take(wp_channel *channel)
{
	void *item = channel->slots[channel->oldest];

	if (++channel->oldest == channel->capacity)
		channel->oldest = 0;
	channel->count--;
	return item;
}

/* Takes the first off the line, if there is one. */
static wp_waiter *serve(wp_waitq *line)
{
	wp_waiter *first = line->first;

	if (first != NULL)
		wp__waitq_remove(first);
	return first;
}

/* Under the lock. WP_AGAIN: it would have to wait. *served: whom to grant after it, or NULL. */
static int send_now(wp_channel *channel, void *item, wp_waiter **served)
{
	if (channel->is_closed)
		return WP_CLOSED;
	*served = serve(&channel->receivers);
	if (*served != NULL)
		(*served)->value = item;
	else if (channel->count < channel->capacity)
		put(channel, item);
	else
		return WP_AGAIN;
	return WP_OK;
}

static int receive_now(wp_channel *channel, void **item, wp_waiter **served)
{
	if (channel->count > 0 &&
	    !(wp_twin(channel_sender_first) && channel->senders.first != NULL)) {
		*item = take(channel);
		*served = wp_twin(channel_senders_forgotten) ? NULL : serve(&channel->senders);
		if (*served != NULL)
			put(channel, (*served)->value);
		return WP_OK;
	}
	*served = serve(&channel->senders);
	if (*served == NULL)
		return channel->is_closed ? WP_CLOSED : WP_AGAIN;
	*item = (*served)->value;
	return WP_OK;
}

int wp__channel_begin_send(wp_channel *channel, void *item, wp_waiter *waiter)
{
	wp_waiter *served = NULL;
	int rc;

	wp_lock_acquire(&channel->lock);
	rc = send_now(channel, item, &served);
	if (rc == WP_AGAIN && waiter != NULL) {
		waiter->value = item;
		wp__waiter_renew(waiter);
		wp__waitq_add(&channel->senders, waiter);
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
	if (rc == WP_AGAIN && waiter != NULL) {
		wp__waiter_renew(waiter);
		wp__waitq_add(&channel->receivers, waiter);
	}
	wp_lock_release(&channel->lock);
	if (served != NULL)
		wp__waiter_grant(served);
	return rc;
}

int wp_channel_try_send(wp_channel *channel, void *item)
{
	int rc = wp__channel_begin_send(channel, item, NULL);

	return rc == WP_AGAIN ? WP_TIMEOUT : rc;
}

int wp_channel_try_receive(wp_channel *channel, void **item)
{
	int rc = wp__channel_begin_receive(channel, item, NULL);

	return rc == WP_AGAIN ? WP_TIMEOUT : rc;
}

/* Takes all off the line, in order, with WP_CLOSED for them. */
static wp_waiter *dismiss(wp_waitq *line)
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
	receivers = wp_twin(channel_close_forgets) ? NULL : dismiss(&channel->receivers);
	wp_lock_release(&channel->lock);
	wp__waiter_grant_all(senders);
	wp__waiter_grant_all(receivers);
}

uint32_t wp_channel_count(wp_channel *channel)
{
	uint32_t count;

	wp_lock_acquire(&channel->lock);
	count = channel->count;
	wp_lock_release(&channel->lock);
	return count;
}

int wp__channel_send(wp_channel *channel, void *item, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc = wp__channel_begin_send(channel, item, waiter);

	if (rc != WP_AGAIN)
		return rc;
	rc = wp__waiter_wait(&channel->lock, waiter, deadline_ns);
	return rc == WP_OK ? waiter->result : rc;
}

int wp__channel_receive(wp_channel *channel, void **item, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc = wp__channel_begin_receive(channel, item, waiter);

	if (rc != WP_AGAIN)
		return rc;
	rc = wp__waiter_wait(&channel->lock, waiter, deadline_ns);
	if (rc == WP_OK && waiter->result == WP_OK)
		*item = waiter->value;
	return rc == WP_OK ? waiter->result : rc;
}

int wp_channel_send_until(wp_channel *channel, void *item, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter);
	return wp__channel_send(channel, item, &waiter, deadline_ns);
}

int wp_channel_receive_until(wp_channel *channel, void **item, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter);
	return wp__channel_receive(channel, item, &waiter, deadline_ns);
}
