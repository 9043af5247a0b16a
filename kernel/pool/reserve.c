/* SPDX-License-Identifier: Apache-2.0
 * reserve.c - see reserve.h. */
#include "pool/reserve.h"

int wp_reserve_init(wp_reserve *reserve, const wp_reserve_config *config, wp_reserve_slot *slots)
{
	if (config->least > config->capacity)
		return WP_MISUSED;
	reserve->config = *config;
	if (reserve->config.max_pending == 0)
		reserve->config.max_pending = config->capacity;
	reserve->slots = slots;
	for (uint32_t slot = 0; slot < config->capacity; slot++)
		wp_init(&slots[slot].thread, NULL);
	wp_init(&reserve->pending, 0);
	wp_init(&reserve->stopping, false);
	return WP_OK;
}

/* [any thread | wait-free] */
static bool is_empty(wp_reserve *reserve, uint32_t slot)
{
	/* [reserve.2] relaxed: a value that is stale costs a task that is not handed over, or a
	 * thread that stays a while longer; pairs reserve.3, reserve.6, reserve.8; upholds
	 * Reserve!ReservedThreadExclusive. */
	return wp_load_relaxed(&reserve->slots[slot].thread) == NULL;
}

uint32_t wp_reserve_available(wp_reserve *reserve)
{
	uint32_t many = 0;

	for (uint32_t slot = 0; slot < reserve->config.capacity; slot++)
		many += !is_empty(reserve, slot);
	return many;
}

static bool is_stopping(wp_reserve *reserve)
{
	/* [reserve.7] relaxed: ordered by reserve.6: if the stop has passed this slot, reserve.6
	 * has read what its reserve.3 wrote there; pairs reserve.5; upholds Reserve!StopTerminates.
	 */
	return wp_load_relaxed(&reserve->stopping);
}

/* Takes the thread out of the slot, or returns NULL. [any thread | wait-free] */
static wp_reserved *take(wp_reserve *reserve, uint32_t slot)
{
	/* [reserve.3] acq_rel; pairs reserve.2, reserve.6, reserve.8; upholds
	 * Reserve!ReservedThreadExclusive: acquires what the thread made; releases the stop, even
	 * in an empty slot, for Reserve!StopTerminates. */
	return wp_exchange_acq_rel(&reserve->slots[slot].thread, NULL);
}

static void hand(wp_reserved *thread, void *task)
{
	thread->task = task;
	wp_parker_unpark(&thread->parker);
}

/* Also called when a started thread begins, or its start was refused. */
void wp_reserve_drop(wp_reserve *reserve)
{
	/* [reserve.4] relaxed: atomicity is enough, because it is only a number; pairs reserve.1;
	 * upholds Reserve!PendingBound. */
	wp_fetch_add_relaxed(&reserve->pending, (uint32_t)-1);
}

int wp__reserve_start(wp_reserve *reserve)
{
	uint32_t pending = 0;
	int code;

	do
		if (pending >= reserve->config.max_pending)
			return WP_REFUSED;
	/* [reserve.1] relaxed: atomicity is enough, because it is only a number; pairs reserve.4;
	 * upholds Reserve!PendingBound. */
	while (!wp_cas_relaxed(&reserve->pending, &pending, pending + 1));
	code = reserve->config.start(reserve->config.arg);
	if (code != WP_OK)
		wp_reserve_drop(reserve);
	return code;
}

bool wp_reserve_try(wp_reserve *reserve, void *task)
{
	for (uint32_t slot = 0; slot < reserve->config.capacity; slot++) {
		wp_reserved *thread = is_empty(reserve, slot) ? NULL : take(reserve, slot);

		if (thread != NULL) {
			hand(thread, task);
			return true;
		}
	}
	if (reserve->config.capacity > 0 && !is_stopping(reserve))
		wp__reserve_start(reserve);
	return false;
}

bool wp__reserve_offer(wp_reserve *reserve, wp_reserved *self, uint32_t *slot)
{
	self->task = NULL;
	for (*slot = 0; *slot < reserve->config.capacity; ++*slot) {
		wp_reserved *nobody = NULL;

		/* [reserve.6] acq_rel; pairs reserve.2, reserve.3, reserve.8; upholds
		 * Reserve!StopTerminates: releases what this thread made; acquires the stop, if it
		 * has passed this slot. */
		if (wp_cas_acq_rel(&reserve->slots[*slot].thread, &nobody, self))
			return true;
	}
	return false;
}

bool wp__reserve_leave(wp_reserve *reserve, wp_reserved *self, uint32_t slot)
{
	wp_reserved *expected = self;

	/* [reserve.8] relaxed: atomicity is enough: no other thread has touched it; pairs
	 * reserve.2, reserve.3, reserve.6; upholds Reserve!ReservedThreadExclusive. */
	return wp_cas_relaxed(&reserve->slots[slot].thread, &expected, NULL);
}

/* Returns true if a thread must stay, because few are in the slots. */
static bool is_needed(wp_reserve *reserve)
{
	return !is_stopping(reserve) && wp_reserve_available(reserve) <= reserve->config.least;
}

static int64_t idle_until(const wp_reserve *reserve)
{
	int64_t idle_ns = reserve->config.idle_ns;

	return idle_ns == WP_FOREVER ? WP_FOREVER : wp_clock_ns() + idle_ns;
}

void *wp__reserve_wait(wp_reserve *reserve, wp_reserved *self, uint32_t slot)
{
	int64_t until_ns = WP_FOREVER;

	if (!is_stopping(reserve))
		until_ns = idle_until(reserve);
	else if (wp__reserve_leave(reserve, self, slot))
		return NULL;
	while (wp_parker_park_until(&self->parker, until_ns) != WP_OK) {
		if (is_needed(reserve)) {
			until_ns = idle_until(reserve);
		} else {
			if (wp__reserve_leave(reserve, self, slot))
				return NULL;
			until_ns = WP_FOREVER;
		}
	}
	return self->task;
}

void wp_reserve_run(wp_reserve *reserve)
{
	wp_reserved self;
	uint32_t slot;
	void *task;

	wp_parker_init(&self.parker);
	wp_reserve_drop(reserve);
	while (wp__reserve_offer(reserve, &self, &slot)) {
		task = wp__reserve_wait(reserve, &self, slot);
		if (task == NULL)
			return;
		reserve->config.run(reserve->config.arg, task);
	}
}

void wp_reserve_stop(wp_reserve *reserve)
{
	/* [reserve.5] relaxed: ordered by reserve.3, which follows it in each slot; pairs
	 * reserve.7; upholds Reserve!StopTerminates. */
	wp_store_relaxed(&reserve->stopping, true);
	for (uint32_t slot = 0; slot < reserve->config.capacity; slot++) {
		wp_reserved *thread = take(reserve, slot);

		if (thread != NULL)
			hand(thread, NULL);
	}
}
