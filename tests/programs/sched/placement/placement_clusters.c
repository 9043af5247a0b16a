/* SPDX-License-Identifier: Apache-2.0
 * placement_clusters.c SEED - carriers in clusters, with random loads and marks: the carriers that
 * may be chosen. Prints what is lost.
 *
 * Why it works  Nothing changes during a choice, so the carriers that may be chosen are known. */
#include "../../case.h"
#include "../../chance.h"
#include "sched/placement/placement.h"

enum { MOST = 24, CLUSTERS = 4, DRAWS = 400 };

static wp_placement placement;
static wp_placement_slot slots[MOST];
static uint32_t members[MOST], ends[CLUSTERS], count, clusters;
static uint32_t cluster_of[MOST], load_of[MOST];
static bool is_marked[MOST];
static uint64_t drawn;

/* `many` clusters of at least one carrier each; with `marks`, some are marked. */
static void make(uint32_t many, bool marks)
{
	uint32_t end = 0;

	clusters = many;
	count = clusters + draw(&drawn, MOST - clusters + 1);
	wp_placement_init(&placement, slots, count, WP_PLACE_CLUSTER_TWO_CHOICES, false);
	for (uint32_t carrier = 0; carrier < count; carrier++) {
		cluster_of[carrier] = carrier < clusters ? carrier : draw(&drawn, clusters);
		load_of[carrier] = draw(&drawn, 4);
		is_marked[carrier] = marks && draw(&drawn, 2) == 0;
		for (uint32_t task = 0; task < load_of[carrier]; task++)
			wp_placement_submitted(&placement, carrier);
		if (is_marked[carrier])
			wp_placement_mark(&placement, carrier);
	}
	for (uint32_t cluster = 0; cluster < clusters; cluster++) {
		for (uint32_t carrier = 0; carrier < count; carrier++)
			if (cluster_of[carrier] == cluster)
				members[end++] = carrier;
		ends[cluster] = end;
	}
	wp_placement_clusters(&placement, members, ends, clusters);
}

static uint32_t free_in(uint32_t cluster, uint32_t *load)
{
	uint32_t many = 0;

	*load = 0;
	for (uint32_t carrier = 0; carrier < count; carrier++)
		if (cluster_of[carrier] == cluster && !is_marked[carrier]) {
			*load += load_of[carrier];
			many++;
		}
	return many;
}

/* No cluster has a lower load per carrier, or all carriers of it are marked. */
static bool is_lesser(uint32_t cluster)
{
	uint32_t load, here = free_in(cluster, &load), load_there, there;

	for (uint32_t other = 0; other < clusters; other++) {
		there = free_in(other, &load_there);
		if (there != 0 && load_there * here < load * there)
			return false;
	}
	return true;
}

static uint32_t all_free(void)
{
	uint32_t load, all = 0;

	for (uint32_t cluster = 0; cluster < clusters; cluster++)
		all += free_in(cluster, &load);
	return all;
}

/* Some are marked. Two clusters: each draw sees both. */
static void with_marks(void)
{
	make(1 + draw(&drawn, CLUSTERS), true);
	for (int each = 0; each < DRAWS; each++) {
		uint32_t chosen = wp_placement_choose(&placement, 0, &drawn);

		if (chosen == WP_PLACE_GLOBAL)
			check(all_free() == 0, "that one is to be had");
		else
			check(!is_marked[chosen], "that who is marked is not chosen");
		check(chosen == WP_PLACE_GLOBAL || clusters > 2 || is_lesser(cluster_of[chosen]),
		      "that the lesser cluster is chosen");
	}
}

/* Of two that are drawn, the one with the lower load: so never the one that has the highest of its
 * cluster. */
static bool has_most(uint32_t chosen)
{
	uint32_t others = 0;

	for (uint32_t carrier = 0; carrier < count; carrier++)
		if (carrier != chosen && cluster_of[carrier] == cluster_of[chosen]) {
			others++;
			if (load_of[carrier] >= load_of[chosen])
				return false;
		}
	return others > 0;
}

static void without_marks(void)
{
	make(1 + draw(&drawn, CLUSTERS), false);
	for (int each = 0; each < DRAWS; each++) {
		uint32_t chosen = wp_placement_choose(&placement, 0, &drawn);

		check(chosen != WP_PLACE_GLOBAL, "that one is to be had");
		check(!has_most(chosen), "that the lesser of two is chosen");
	}
}

/* Equal loads: each cluster is drawn, and each of its carriers. */
static void equal(void)
{
	uint32_t chosen[MOST] = {0};

	make(3, false);
	for (uint32_t carrier = 0; carrier < count; carrier++)
		wp_placement_moved(&placement, carrier, load_of[carrier]);
	for (int each = 0; each < 400 * MOST; each++)
		chosen[wp_placement_choose(&placement, 0, &drawn)]++;
	for (uint32_t carrier = 0; carrier < count; carrier++)
		check(chosen[carrier] > 40, "that each is drawn");
}

int main(int argc, char **argv)
{
	seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	drawn = seed + 1;
	for (int turn = 0; turn < 100; turn++) {
		with_marks();
		without_marks();
		equal();
	}
	return failures != 0;
}
