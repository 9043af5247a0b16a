/* SPDX-License-Identifier: Apache-2.0
 * readiness.c - see readiness.h. */
#include "io/readiness.h"

void wp_ready_init(wp_ready *ready)
{
	wp_init(&ready->lock.state, 0);
	wp_init(&ready->edges, 0);
	ready->is_shut = false;
	ready->line.first = ready->line.last = NULL;
}

void wp__ready_leave(wp_waiter *waiter)
{
	wp_ready *ready = waiter->object;

	if (!wp__waiter_cancel(&ready->lock, waiter) && waiter->result == WP_OK)
		wp_ready_pass(ready);
}

int wp__ready_begin(wp_ready *ready, uint32_t seen, wp_waiter *waiter)
{
	int code = WP_MUST_PARK;

	wp__waiter_stands(waiter, waiter->leave != NULL ? waiter->leave : wp__ready_leave, ready);
	wp_lock_acquire(&ready->lock);
	if (ready->is_shut)
		code = WP_CLOSED;
	else if (wp_ready_look(ready) != seen)
		code = WP_OK;
	else
		wp__wait_queue_add(&ready->line, waiter);
	wp_lock_release(&ready->lock);
	if (code != WP_MUST_PARK)
		wp__waiter_over(waiter);
	return code;
}

int wp__ready_wait(wp_ready *ready, wp_waiter *waiter, uint32_t seen, int64_t deadline_ns,
		   bool *is_told)
{
	int code = wp__ready_begin(ready, seen, waiter);

	*is_told = false;
	if (code != WP_MUST_PARK)
		return code;
	code = wp__waiter_wait(&ready->lock, waiter, deadline_ns);
	*is_told = code == WP_OK;
	return code == WP_OK ? waiter->result : code;
}

int wp_ready_wait(wp_ready *ready, uint32_t seen, int64_t deadline_ns, bool *is_told)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_READ);
	return wp__ready_wait(ready, &waiter, seen, deadline_ns, is_told);
}

/* Removes the first waiter from the queue and returns it, or returns NULL. [under the lock] */
static wp_waiter *take(wp_ready *ready)
{
	wp_waiter *first = ready->line.first;

	if (first != NULL)
		wp__wait_queue_remove(first);
	return first;
}

void wp_ready_tell(wp_ready *ready, bool is_data)
{
	wp_waiter *first;
	uint32_t edges;

	wp_lock_acquire(&ready->lock);
	first = take(ready);
	edges = (wp_ready_look(ready) + WP_READY_EDGE) | (is_data ? 0 : WP_READY_MORE);
	/* [readiness.2] release; pairs readiness.1; upholds Descriptor!ReadinessNotLost: a thread
	 * that sees the edge sees what came with it. */
	wp_store_release(&ready->edges, edges);
	wp_lock_release(&ready->lock);
	if (first != NULL)
		wp__waiter_grant(first);
}

void wp_ready_pass(wp_ready *ready)
{
	wp_waiter *first;

	wp_lock_acquire(&ready->lock);
	first = take(ready);
	wp_lock_release(&ready->lock);
	if (first != NULL)
		wp__waiter_grant(first);
}

void wp_ready_shut(wp_ready *ready)
{
	wp_waiter *chain;

	wp_lock_acquire(&ready->lock);
	ready->is_shut = true;
	chain = ready->line.first;
	for (wp_waiter *waiter = chain; waiter != NULL; waiter = waiter->next) {
		waiter->line = NULL;
		waiter->result = WP_CLOSED;
	}
	if (chain != NULL)
		ready->line.first = ready->line.last = NULL;
	wp_lock_release(&ready->lock);
	wp__waiter_grant_all(chain);
}
