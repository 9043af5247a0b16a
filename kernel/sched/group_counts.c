/* SPDX-License-Identifier: Apache-2.0
 * group_counts.c - what a group has counted, read by whoever asks. */
#include "sched/local_queue_carrier.h"
#include "sched/placement/group_placement.h"
#include "sched/worker.h"

#ifndef WP_EXPLORE

uint32_t wp_group_size(const wp_group *group)
{
	return group->size;
}

wp_carrier_counts wp_group_counts(wp_group *group, uint32_t index)
{
	wp_worker *one = &group->workers[index];
	wp_bounded *bounded = one->home.carrier.bounded;

	return (wp_carrier_counts){
		.runs = wp__count_read(&one->runs),
		.directed = wp__count_read(&one->directed),
		.probed = wp__count_read(&one->probed),
		.recheck = wp__count_read(&one->recheck),
		.fruitless = wp__count_read(&one->fruitless),
		.drains = wp__count_read(&one->drains),
		.parks = wp__count_read(&one->parks),
		.wakes = wp__count_read(&one->wakes),
		.useless_wakes = wp__count_read(&one->useless_wakes),
		.pinned = wp__count_read(&one->pinned),
		.runnable = wp_home_runnable(&one->home),
		.load = group->placed == NULL ? 0 : wp__placed_load(group->placed, index),
		.spilled = bounded == NULL ? 0 : wp__count_read(&bounded->spilled),
		.looted = bounded == NULL ? 0 : wp__count_read(&bounded->looted),
	};
}

wp_placement_counts wp_group_placement_counts(wp_group *group, uint32_t index)
{
	wp_placement_tally *tally;

	if (group->placed == NULL)
		return (wp_placement_counts){0};
	tally = &group->placed->placement.slots[index].tally;
	return (wp_placement_counts){
		.home = wp__count_read(&tally->home),
		.other = wp__count_read(&tally->other),
		.nowhere = wp__count_read(&tally->nowhere),
		.marks = wp__count_read(&tally->marks),
		.suspects = wp__count_read(&tally->suspects),
		.moved = wp__count_read(&tally->moved),
		.taken = wp__count_read(&tally->taken),
	};
}

wp_domain_counts wp_group_domain_counts(wp_group *group, uint32_t index)
{
	wp_domain *domain = group->workers[index].home.carrier.domain;

	if (domain == NULL || !group->config.work_stealing)
		return (wp_domain_counts){0};
	return (wp_domain_counts){
		.started = wp__count_read(&domain->counts.started),
		.denied = wp__count_read(&domain->counts.denied),
		.denied_other = wp__count_read(&domain->counts.denied_other),
		.no_idle = wp__count_read(&domain->counts.no_idle),
		.lost_tickets = wp__count_read(&domain->counts.lost_tickets),
	};
}

#endif
