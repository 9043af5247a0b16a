/* SPDX-License-Identifier: Apache-2.0
 * group_placement_made.c - what a group counts and places by, made and freed: see group_placement.h. */
#include <stdlib.h>
#include <string.h>

#include "sched/placement/group_placement.h"

#ifndef WP_EXPLORE

static bool is_near(const wp_group_config *config, uint32_t one, uint32_t other)
{
	return (config->domain_of == NULL || config->domain_of[one] == config->domain_of[other]) &&
	       (config->cluster_of == NULL || config->cluster_of[one] == config->cluster_of[other]);
}

/* Its clusters are those of its topology, also where nobody steals; and one of its replacements.
 * `seats`: twice the carriers of the placement. */
static void make_clusters(wp_placement *placement, const wp_group_config *config, uint32_t carriers,
			  uint32_t *seats)
{
	uint32_t *ends = seats + placement->count, clusters = 0, end = 0;

	for (uint32_t first = 0; first < carriers; first++) {
		uint32_t nearest = 0;

		while (!is_near(config, nearest, first))
			nearest++;
		if (nearest != first)
			continue; /* it is in that one's */
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

wp_placed *wp__placed_new(wp_group *group)
{
	uint32_t count = group->config.carriers;
	wp_placed *placed = aligned_alloc(WP_LINE, sizeof(wp_placed));
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
	placed->moved = (wp_lane){0};
	wp__replaced_init(placed);
	placed->placement.is_watched = group->config.supervise_ms != 0;
	placed->watching = (wp_lock){0};
	placed->over = (wp_cond){0};
	placed->has_supervisor = placed->is_over = false;
	return placed;
}

void wp__placed_free(wp_placed *placed)
{
	if (placed != NULL) {
		free(placed->placement.slots);
		free(placed->seats);
	}
	free(placed);
}

#endif
