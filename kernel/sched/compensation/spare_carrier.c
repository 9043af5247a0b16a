/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.c - see spare_carrier.h. */
#include "sched/compensation/spare_carrier.h"

void wp_spare_carriers_init(wp_spare_carriers *all, wp_placement *placement, uint32_t carriers)
{
	all->lock = (wp_lock){0};
	all->placement = placement;
	all->carriers = carriers;
	all->is_over = false;
	all->counts = (wp_spare_carrier_group){.most = placement->count - carriers};
	for (uint32_t carrier = carriers; carrier < placement->count; carrier++)
		wp_init(&placement->slots[carrier].word, WP_PLACE_DORMANT);
	wp_init(&placement->reach, carriers);
}

bool wp_spare_carrier_is_dormant(const wp_placement *placement, uint32_t carrier)
{
	/* [spare_carrier.1] relaxed: ordered by carrier.6, or by spare_carrier.5; pairs
	 * spare_carrier.3, spare_carrier.4; upholds SpareCarrier!NoStrandedGlobal. */
	return (wp_load_relaxed(&placement->slots[carrier].word) & WP_PLACE_DORMANT) != 0;
}

void wp_spare_carrier_fence(void)
{
	/* [spare_carrier.5] seq_cst fence; pairs carrier.6; upholds SpareCarrier!NoStrandedGlobal:
	 * a carrier that parked before it could see this task is found parked, and is not mistaken
	 * for an idle spare. */
	wp_fence_seq_cst();
}

/* Returns the carrier's flags, blocked or idle spare; 0 means eligible. [under the lock |
 * wait-free] */
static uint32_t flags_of(const wp_spare_carriers *all, uint32_t carrier)
{
	/* [spare_carrier.2] relaxed: ordered by the lock, which every thread that changes it takes
	 * afterwards; pairs spare_carrier.3, spare_carrier.4; upholds SpareCarrier!EligibleKept. */
	return (uint32_t)wp_load_relaxed(&all->placement->slots[carrier].word);
}

/* Returns the number of eligible carriers. [under the lock | wait-free] */
static uint32_t eligible(const wp_spare_carriers *all)
{
	uint32_t many = 0;

	for (uint32_t carrier = 0; carrier < all->carriers + all->counts.started; carrier++)
		many += flags_of(all, carrier) == 0;
	return many;
}

/* Finds an idle spare. One that has a thread and no blocked step is preferred, then another one
 * that has a thread, then the first one without a thread. Returns the placement's count if there is
 * none. [under the lock | wait-free] */
static uint32_t find_dormant(const wp_spare_carriers *all)
{
	uint32_t end = all->carriers + all->counts.started, found = end;

	for (uint32_t carrier = all->carriers; carrier < end; carrier++) {
		uint32_t flags = flags_of(all, carrier);

		if (flags == WP_PLACE_DORMANT)
			return carrier;
		if (flags & WP_PLACE_DORMANT)
			found = carrier;
	}
	return found;
}

/* Sets the end of the carriers that policies scan. [under the lock | wait-free] */
static void set_reach(wp_spare_carriers *all)
{
	uint32_t end = all->placement->count;

	while (end > all->carriers && (flags_of(all, end - 1) & WP_PLACE_DORMANT) != 0)
		end--;
	/* [spare_carrier.6] relaxed: a value that is stale costs a worse choice; pairs
	 * policy_draw.1; upholds SpareCarrier!RetiredIsEmpty: placement.1 looks again. */
	wp_store_relaxed(&all->placement->reach, end);
}

/* Makes an idle spare eligible. [under the lock | wait-free] */
static void activate(wp_spare_carriers *all, uint32_t carrier)
{
	/* [spare_carrier.3] relaxed: ordered by timer.9, in the wake; pairs spare_carrier.1,
	 * spare_carrier.2; upholds SpareCarrier!NoStrandedGlobal. */
	wp_fetch_and_relaxed(&all->placement->slots[carrier].word, ~WP_PLACE_DORMANT);
	all->counts.active++;
	set_reach(all);
}

/* Starts its thread. Returns false if there is none. [under the lock | system calls] */
static bool start(wp_spare_carriers *all, uint32_t carrier)
{
	if (all->start(all->arg, carrier) != 0) {
		all->counts.refused++;
		return false;
	}
	all->counts.started++;
	return true;
}

/* Activates an idle spare. Returns false if there is none. [under the lock | may start a thread] */
static bool take_on(wp_spare_carriers *all)
{
	uint32_t carrier = find_dormant(all);
	bool has_thread = carrier < all->carriers + all->counts.started;

	if (carrier == all->placement->count)
		return false;
	if (!has_thread && !start(all, carrier))
		return false;
	all->counts.reused += has_thread;
	activate(all, carrier);
	all->wake(all->arg, carrier);
	return true;
}

/* Makes an active, eligible spare idle. Returns false if there is none. [under the lock | moves its
 * queue] */
static bool retire(wp_spare_carriers *all)
{
	uint32_t carrier = all->carriers + all->counts.started;

	while (carrier > all->carriers && flags_of(all, carrier - 1) != 0)
		carrier--;
	if (carrier-- == all->carriers)
		return false;
	/* [spare_carrier.4] acquire; pairs placement.1, spare_carrier.1, spare_carrier.2; upholds
	 * SpareCarrier!RetiredIsEmpty: all tasks that were counted before are in the queue that is
	 * moved. */
	wp_fetch_or_acquire(&all->placement->slots[carrier].word, WP_PLACE_DORMANT);
	all->counts.active--;
	set_reach(all);
	all->move(all->arg, carrier);
	all->wake(all->arg, carrier);
	return true;
}

static void enter(wp_spare_carriers *all)
{
	wp_lock_acquire(&all->lock);
}

static void leave(wp_spare_carriers *all)
{
	wp_lock_release(&all->lock);
}

void wp_spare_carriers_settle(wp_spare_carriers *all)
{
	bool goes_on = true;

	enter(all);
	while (goes_on && !all->is_over) {
		uint32_t many = eligible(all);

		if (many < all->carriers)
			goes_on = take_on(all);
		else
			goes_on = many > all->carriers && retire(all);
	}
	leave(all);
}

void wp_spare_carriers_end(wp_spare_carriers *all)
{
	wp_lock_acquire(&all->lock);
	all->is_over = true;
	wp_lock_release(&all->lock);
}

wp_spare_carrier_group wp_spare_carriers_counts(wp_spare_carriers *all)
{
	wp_spare_carrier_group counts;

	wp_lock_acquire(&all->lock);
	counts = all->counts;
	wp_lock_release(&all->lock);
	return counts;
}
