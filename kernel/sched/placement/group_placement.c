/* SPDX-License-Identifier: Apache-2.0
 * group_placement.c - see group_placement.h. Not explored:
 * stress/scenarios/sched/placement/placement.c, placement_global.c have what it calls. */
#include <stdlib.h>
#include <string.h>
#include "sched/placement/group_placement.h"

#include "base/error.h"
#include "sched/run_queues.h"

/* Returns the random state of a thread that runs no carrier. [any thread | wait-free] */
static uint64_t *random_of_thread(void)
{
	static _Thread_local uint64_t random;

	if (random == 0)
		random = (uint64_t)wp_clock_ns() ^ (uintptr_t)&random;
	return &random;
}

void wp__group_placement_resumes(wp_task *task)
{
	wp_worker *home = (wp_worker *)(void *)task->home;
	wp_group *group = home->group;

	if (wp__carrier_tasks_stays(task) ||
	    (task->is_virtual && ((wp_vthread *)(void *)task)->scheduler != NULL))
		return;
	wp__carrier_tasks_resume(
		group->homes[wp__group_placement_choose(group->placed, home->index)], task);
}

static wp_placement_tally *tally_of(wp_group_placement *placed, uint32_t index)
{
	return &placed->placement.slots[index].tally;
}

uint32_t wp__group_placement_choose(wp_group_placement *placed, uint32_t here)
{
	wp_worker *self = wp__worker_self();
	uint32_t chosen = wp_placement_choose(&placed->placement, here,
					      self == NULL ? random_of_thread() : &self->random);

	if (chosen == WP_PLACE_GLOBAL) {
		wp__count_shared(&tally_of(placed, here)->nowhere);
		return here; /* the push then moves the queue */
	}
	wp__count_shared(chosen == here ? &tally_of(placed, chosen)->home
					: &tally_of(placed, chosen)->other);
	return chosen;
}

uint32_t wp__group_placement_load(wp_group_placement *placed, uint32_t index)
{
	return wp_placement_load(&placed->placement, index);
}

void wp__group_placement_wake_one(wp_group_placement *placed, uint32_t after)
{
	uint32_t count = placed->placement.count;

	wp_spare_carrier_fence();
	for (uint32_t step = 1; step <= count; step++) {
		uint32_t index = (after + step) % count;

		if (!wp_spare_carrier_is_dormant(&placed->placement, index) &&
		    wp__timers_end_sleep(&placed->group->workers[index].home.carrier))
			return;
	}
}

void wp__group_placement_move(wp_group_placement *placed, wp_worker *from)
{
	wp_private_fifo batch = {0};
	wp_mpsc_node *node;
	uint32_t many = 0;

	wp__local_queue_carrier_hand_over(&from->home.carrier);
	for (; (node = wp_carrier_steal(&from->home.carrier)) != NULL; many++) {
		/* A task of the ring may have another home, and is counted there. */
		wp_worker *home = (wp_worker *)(void *)((wp_task *)(void *)node)->home;

		wp_placement_moved(&placed->placement, home->index, 1);
		wp_private_fifo_push(&batch, node);
	}
	if (many == 0)
		return;
	wp__count_shared_many(&tally_of(placed, from->index)->moved, many);
	wp_lock_acquire(&placed->lock);
	while ((node = wp_private_fifo_pop(&batch)) != NULL)
		wp_private_fifo_push(&placed->moved, node);
	wp_placement_spilled(&placed->placement, many);
	wp_lock_release(&placed->lock);
	wp__group_placement_wake_one(placed, from->index);
}

void wp__group_placement_pushed(wp_carrier_tasks *home)
{
	wp_worker *to = (wp_worker *)(void *)home;
	wp_group_placement *placed = to->group->placed;

	if (!wp_placement_submitted(&placed->placement, to->index))
		wp__group_placement_move(placed, to);
}

void wp__group_placement_polled(wp_worker *mine, wp_mpsc_node *node)
{
	wp_task *task = (wp_task *)(void *)node;

	if (task->home == &mine->home)
		wp_placement_begins(&mine->group->placed->placement, mine->index);
	else if (mine->home.carrier.bounded != NULL) /* came with a stolen task, or overflowed */
		wp__group_placement_stole(mine, task);
}

void wp__group_placement_stole(wp_worker *mine, wp_task *task)
{
	wp_worker *victim = (wp_worker *)(void *)task->home;

	wp_placement_stolen(&mine->group->placed->placement, victim->index, mine->index);
}

void wp__group_placement_begins(wp_worker *mine)
{
	if (mine->group->placed->placement.is_watched)
		wp_placement_step(&mine->progress);
}

void wp__group_placement_ended(wp_worker *mine)
{
	wp_placement *placement = &mine->group->placed->placement;

	if (placement->is_watched)
		wp_placement_step(&mine->progress);
	if (wp_placement_ends(placement, mine->index)) {
		wp_placement_unmark(placement, mine->index);
		wp__spare_carrier_group_settle(mine->group->placed);
	}
}

wp_mpsc_node *wp__group_placement_take(wp_worker *mine)
{
	wp_group_placement *placed = mine->group->placed;
	wp_carrier *carrier = &mine->home.carrier;
	wp_mpsc_node *node;
	bool owes;

	if (!wp_placement_has_global(&placed->placement))
		return NULL;
	if (wp_spare_carrier_is_dormant(&placed->placement, mine->index)) {
		/* The idle spare may have been woken for that task. */
		wp__group_placement_wake_one(placed, mine->index);
		return NULL;
	}
	wp_lock_acquire(&placed->lock);
	node = wp_private_fifo_pop(&placed->moved);
	owes = node != NULL && wp_placement_drained(&placed->placement, mine->index, 1);
	wp_lock_release(&placed->lock);
	if (node == NULL)
		return NULL;
	wp__count(&tally_of(placed, mine->index)->taken);
	wp_placement_begins(&placed->placement, mine->index);
	if (owes)
		wp__group_placement_wake_one(placed, mine->index);
	if (wp__carrier_has_some(carrier))
		wp_carrier_get_help(carrier);
	return node;
}

bool wp__group_placement_rest(wp_worker *mine)
{
	wp_group_placement *placed = mine->group->placed;

	return placed == NULL || wp_spare_carrier_is_dormant(&placed->placement, mine->index) ||
	       !wp_placement_has_global(&placed->placement);
}

void wp__group_placement_give_back(wp_group_placement *placed)
{
	wp_mpsc_node *node;

	wp_lock_acquire(&placed->lock);
	while ((node = wp_private_fifo_pop(&placed->moved)) != NULL)
		wp_mpsc_push(&((wp_task *)(void *)node)->home->carrier.queue, node);
	wp_lock_release(&placed->lock);
}

int wp_group_block(void)
{
	wp_worker *mine = wp__worker_self();
	wp_group_placement *placed = mine == NULL ? NULL : mine->group->placed;

	if (placed == NULL)
		return WP_FORBIDDEN;
	if (!wp_placement_mark(&placed->placement, mine->index))
		return WP_ALREADY;
	wp__count_shared(&tally_of(placed, mine->index)->marks);
	wp__group_placement_move(placed, mine);
	wp__spare_carrier_group_settle(placed);
	return WP_OK;
}

void wp_group_unblock(void)
{
	wp_worker *mine = wp__worker_self();

	if (mine == NULL || mine->group->placed == NULL)
		return;
	wp_placement_unmark(&mine->group->placed->placement, mine->index);
	wp__spare_carrier_group_settle(mine->group->placed);
}

/* A group's placement: made and freed. */

static bool is_near(const wp_group_config *config, uint32_t one, uint32_t other)
{
	return (config->domain_of == NULL || config->domain_of[one] == config->domain_of[other]) &&
	       (config->cluster_of == NULL || config->cluster_of[one] == config->cluster_of[other]);
}

/* The clusters are those of the group's topology, even if no carrier steals, and one more for the
 * spare carriers. `seats` has twice as many entries as the placement has carriers. */
static void make_clusters(wp_placement *placement, const wp_group_config *config, uint32_t carriers,
			  uint32_t *seats)
{
	uint32_t *ends = seats + placement->count, clusters = 0, end = 0;

	for (uint32_t first = 0; first < carriers; first++) {
		uint32_t nearest = 0;

		while (!is_near(config, nearest, first))
			nearest++;
		if (nearest != first)
			continue; /* already in the cluster of `nearest` */
		for (uint32_t one = first; one < carriers; one++)
			if (is_near(config, first, one))
				seats[end++] = one;
		ends[clusters++] = end;
	}
	for (uint32_t one = carriers; one < placement->count; one++)
		seats[end++] = one;
	if (end > carriers && clusters > 1)
		ends[clusters++] = end;
	wp_placement_clusters(placement, seats, ends, clusters);
}

wp_group_placement *wp__group_placement_new(wp_group *group)
{
	uint32_t count = group->config.carriers;
	wp_group_placement *placed = aligned_alloc(WP_LINE, sizeof(wp_group_placement));
	wp_placement_slot *slots = aligned_alloc(WP_LINE, count * sizeof(wp_placement_slot));
	uint32_t *seats = calloc(count, 2 * sizeof(uint32_t));

	if (placed == NULL || slots == NULL || seats == NULL) {
		free(placed);
		free(slots);
		free(seats);
		return NULL;
	}
	memset(slots, 0, count * sizeof(wp_placement_slot));
	wp_placement_init(&placed->placement, slots, count, group->config.placement,
			  group->config.load_at_dequeue);
	placed->group = group;
	placed->seats = seats;
	make_clusters(&placed->placement, &group->config, group->size, seats);
	placed->lock = (wp_lock){0};
	placed->moved = (wp_private_fifo){0};
	wp__spare_carrier_group_init(placed);
	placed->placement.is_watched = group->config.monitor_ms != 0;
	placed->watching = (wp_lock){0};
	placed->over = (wp_cond){0};
	placed->has_monitor = placed->is_over = false;
	return placed;
}

void wp__group_placement_free(wp_group_placement *placed)
{
	if (placed != NULL) {
		free(placed->placement.slots);
		free(placed->seats);
	}
	free(placed);
}
