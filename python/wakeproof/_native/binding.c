/* SPDX-License-Identifier: Apache-2.0
 * binding.c - see binding.h. */
#define _GNU_SOURCE
#include "binding.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { GATE_CLOSED = 1, GATE_ONE = 2 };

/* 16 bytes. cell: what the reserve got, written by the producer, used up by its publish. */
struct wp__item {
	wp_mpsc_node node; /* first, so that node and item have one address */
	wp_mpsc_cell *cell;
};

/* 640 bytes. gate: bit 0 closed (binding.3), above it the number of puts inside (binding.1, binding.2). eventfd: written
 * at new. */
struct wp__inbox {
	wp_mpsc queue;
	_Alignas(WP_LINE) wp_guard guard;
	wp_atomic(uint64_t) signals; /* whoever writes the eventfd */
	int eventfd;
	_Alignas(WP_LINE) wp_atomic(uint32_t) gate;
	_Alignas(WP_LINE) wp_lock consumer;
};

wp_parker *wp__parker_new(void)
{
	wp_parker *parker = malloc(sizeof *parker);

	if (parker != NULL)
		wp_parker_init(parker);
	return parker;
}

void wp__parker_free(wp_parker *parker)
{
	free(parker);
}

static enum wp_guard_fences fences(bool asymmetric)
{
	return asymmetric ? WP_GUARD_ASYMMETRIC : WP_GUARD_SYMMETRIC;
}

wp_guard *wp__guard_new(bool asymmetric)
{
	wp_guard *guard = malloc(sizeof *guard);

	if (guard != NULL)
		wp_guard_init(guard, fences(asymmetric));
	return guard;
}

void wp__guard_free(wp_guard *guard)
{
	free(guard);
}

bool wp__guard_is_asymmetric(const wp_guard *guard)
{
	return guard->fences == WP_GUARD_ASYMMETRIC;
}

wp_rendezvous *wp__rendezvous_new(bool asymmetric)
{
	wp_rendezvous *rendezvous = malloc(sizeof *rendezvous);

	if (rendezvous != NULL)
		wp_rendezvous_init(rendezvous, fences(asymmetric));
	return rendezvous;
}

void wp__rendezvous_free(wp_rendezvous *rendezvous)
{
	free(rendezvous);
}

bool wp__rendezvous_is_asymmetric(const wp_rendezvous *rendezvous)
{
	return wp__guard_is_asymmetric(&rendezvous->guard);
}

wp_guard *wp__rendezvous_guard(wp_rendezvous *rendezvous)
{
	return &rendezvous->guard;
}

wp__inbox *wp__inbox_new(void)
{
	wp__inbox *inbox = aligned_alloc(WP_LINE, sizeof *inbox);

	if (inbox == NULL)
		return NULL;
	inbox->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inbox->eventfd < 0) {
		free(inbox);
		return NULL;
	}
	wp_mpsc_init(&inbox->queue);
	wp_guard_init(&inbox->guard, WP_GUARD_SYMMETRIC);
	wp_init(&inbox->signals, 0);
	wp_init(&inbox->gate, 0);
	wp_init(&inbox->consumer.state, 0);
	wp_guard_announce(&inbox->guard); /* an empty inbox is armed: the first put writes */
	return inbox;
}

/* [one consumer at a time] */
static void drop_queued(wp__inbox *inbox)
{
	wp_mpsc_node *node;

	while ((node = wp_mpsc_pop(&inbox->queue)) != NULL)
		wp__item_free((wp__item *)node);
}

void wp__inbox_free(wp__inbox *inbox)
{
	if (inbox == NULL)
		return;
	drop_queued(inbox);
	close(inbox->eventfd);
	free(inbox);
}

wp__item *wp__item_new(void)
{
	return malloc(sizeof(wp__item));
}

void wp__item_free(wp__item *item)
{
	free(item);
}

/* Makes the eventfd readable. [inside the gate or holding the consumer lock | a system call] */
static int make_readable(wp__inbox *inbox)
{
	uint64_t one = 1;

	/* relaxed: atomicity is enough, a count for people. */
	wp_fetch_add_relaxed(&inbox->signals, 1);
	return write(inbox->eventfd, &one, sizeof one) == sizeof one ? WP_OK : WP_SYSTEM;
}

/* [inside the gate | wait-free] */
static void gate_leave(wp__inbox *inbox)
{
	/* [binding.2] release; pairs binding.4: the closer finds what we pushed. */
	wp_fetch_add_release(&inbox->gate, (uint32_t)-GATE_ONE);
}

int wp__inbox_reserve(wp__inbox *inbox, wp__item *item)
{
	/* [binding.1] relaxed: atomicity is enough, one word orders binding.1 and binding.3: either binding.4 waits for us or
	 * we see CLOSED. */
	if (wp_fetch_add_relaxed(&inbox->gate, GATE_ONE) & GATE_CLOSED) {
		gate_leave(inbox);
		return WP_CLOSED;
	}
	item->cell = wp__mpsc_reserve(&inbox->queue, &item->node);
	return WP_OK;
}

int wp__inbox_publish(wp__inbox *inbox, wp__item *item)
{
	int rc = WP_OK;

	wp__mpsc_publish(item->cell, &item->node); /* from here on the item is the consumer's */
	if (wp_guard_signal(&inbox->guard))
		rc = make_readable(inbox);
	gate_leave(inbox);
	return rc;
}

int wp__inbox_put(wp__inbox *inbox, wp__item *item)
{
	int rc = wp__inbox_reserve(inbox, item);

	return rc == WP_OK ? wp__inbox_publish(inbox, item) : rc;
}

/* The pop that found nothing: arms the eventfd and looks again. [holding the consumer lock | system
 * calls] */
static wp_mpsc_node *arm(wp__inbox *inbox)
{
	wp_mpsc_node *node;
	uint64_t drained;

	/* Nothing to read is as good: a write that comes late is one spurious readiness. */
	if (read(inbox->eventfd, &drained, sizeof drained) < 0)
		drained = 0;
	wp_guard_announce(&inbox->guard);
	node = wp_mpsc_pop(&inbox->queue);
	/* Drained, and there may be more behind this one: who took the promise back writes. */
	if (node != NULL && wp_guard_leave(&inbox->guard))
		make_readable(inbox);
	return node;
}

wp__item *wp__inbox_take(wp__inbox *inbox)
{
	wp_mpsc_node *node = NULL;

	wp_lock_acquire(&inbox->consumer);
	if (!wp__inbox_is_closed(inbox)) {
		node = wp_mpsc_pop(&inbox->queue);
		if (node == NULL)
			node = arm(inbox);
	}
	wp_lock_release(&inbox->consumer);
	return (wp__item *)node;
}

void wp__inbox_close(wp__inbox *inbox)
{
	uint32_t old;

	wp_lock_acquire(&inbox->consumer);
	/* [binding.3] release; pairs binding.1: atomicity is enough, order.h has no weaker form. */
	old = wp_fetch_or_release(&inbox->gate, GATE_CLOSED);
	/* [binding.4] acquire; pairs binding.2: every put that entered is over. */
	while (wp_load_acquire(&inbox->gate) != GATE_CLOSED)
		sched_yield();
	drop_queued(inbox);
	if (!(old & GATE_CLOSED))
		make_readable(inbox); /* for good: take drains no more */
	wp_lock_release(&inbox->consumer);
}

bool wp__inbox_is_closed(wp__inbox *inbox)
{
	/* relaxed: ordered by the consumer lock in take; elsewhere stale costs one more call, never
	 * a wrong one. */
	return wp_load_relaxed(&inbox->gate) & GATE_CLOSED;
}

int wp__inbox_fileno(wp__inbox *inbox)
{
	return inbox->eventfd;
}

uint64_t wp__inbox_signals(wp__inbox *inbox)
{
	/* relaxed: atomicity is enough, a count for people. */
	return wp_load_relaxed(&inbox->signals);
}

wp_mpsc *wp__inbox_mpsc(wp__inbox *inbox)
{
	return &inbox->queue;
}

void wp__thread_name(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}
