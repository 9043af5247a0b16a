/* SPDX-License-Identifier: Apache-2.0
 * graph_estimate.c - estimates how many executions there are, by random descents into the tree of
 * graphs. The algorithm is heterogeneous sampling (P. C. Chen, 1992).
 *
 *   level        graphs at one depth of the tree: one graph of each kind, with a weight
 *   next level   each child adds the weight of its parent to the graph of its own kind, and
 *                replaces that graph with the probability (parent's weight / sum)
 *   execution    a graph that ends as an execution adds its weight to the count
 *
 * Why it works  A graph of weight w represents w graphs of its depth and kind. On average each
 *               graph of the tree is represented once, whatever the shape of the tree, so each
 *               execution is counted once on average. With one graph per level it is Knuth's method
 *               (1975). The kind is the number of nodes and the number of revisited reads. It keeps
 *               the error low: a graph after a revisit has fewer nodes and more still to come. The
 *               band is twice the standard error, and is as uncertain as the mean.
 * Spec          none.
 * Evidence      tests/judge/explore/test_estimate.py. */
#include "graph_share.h"
#include "report.h"

#include <math.h>
#include <string.h>

static const double DESCENT_S = 1; /* at most for one descent, which may be longer than a search */
static const double DESCENTS_S = 0.1; /* per look: a twentieth of the time between two looks */

enum { KINDS = 512 };

/* Graphs of one kind at one depth, and the one that represents them. */
typedef struct kind {
	explore_graph *graph; /* kept when the level is emptied */
	double weight;
	int nodes, gone_back;
} kind;

typedef struct level {
	kind kinds[KINDS];
	int count;
} level;

typedef struct explore_probe {
	/* The source of random numbers; the owner of the graphs of levels. */
	explore_search *random, pool;
	level *level, *next;
	double weight, found; /* the weight of the parent; the number of executions */
} explore_probe;

static void copy(explore_search *pool, const explore_graph *from, explore_graph *to)
{
	bool keeps[EXPLORE_NODES];
	int16_t numbers[EXPLORE_NODES];

	memset(keeps, true, (size_t)from->count);
	explore_reset(to);
	explore_cut_down(pool, from, to, keeps, numbers);
}

/* Reads that a later write has revisited: their sources have higher numbers. */
static int gone_back_in(const explore_graph *graph)
{
	int count = 0;

	for (int n = 0; n < graph->count; n++)
		count += graph->nodes[n].source > n;
	return count;
}

/* When the level is full, its last kind takes all further kinds. */
static kind *kind_of(level *level, int nodes, int gone_back)
{
	kind *kind = level->kinds;

	for (; kind < &level->kinds[level->count]; kind++)
		if (kind->nodes == nodes && kind->gone_back == gone_back)
			return kind;
	if (level->count == KINDS)
		return kind - 1;
	level->count++;
	kind->nodes = nodes;
	kind->gone_back = gone_back;
	kind->weight = 0;
	return kind;
}

bool explore_probe_leave(explore_search *search, const explore_graph *graph, int thread)
{
	explore_probe *probe = search->probe;
	kind *kind;

	if (thread < 0 || explore_is_urgent(graph, thread))
		return true;
	kind = kind_of(probe->next, graph->count, gone_back_in(graph));
	kind->weight += probe->weight;
	if (!kind->graph)
		kind->graph = explore_take(&probe->pool);
	if (kind->graph && (double)explore_random(probe->random, UINT64_C(1) << 53) * kind->weight <
				   probe->weight * 0x1p53)
		copy(&probe->pool, graph, kind->graph);
	return false;
}

void explore_probe_end(explore_search *search, bool is_execution)
{
	search->probe->found += is_execution ? search->probe->weight : 0;
}

/* False: that was the last level. */
static bool go_down(explore_search *search)
{
	explore_probe *probe = search->probe;
	level *level = probe->level;
	bool has_more = level->count > 0;

	for (int k = 0; k < level->count && !search->is_over; k++) {
		probe->weight = level->kinds[k].weight;
		explore_visit_thread(search, level->kinds[k].graph,
				     explore_next_thread(search, level->kinds[k].graph));
	}
	level->count = 0;
	probe->level = probe->next;
	probe->next = level;
	return has_more;
}

/* Estimates executions once, by a search of its own that leaves the other search as it is. False:
 * the time was over before. */
static bool descend(explore_search *search, level levels[2], double seconds, double *found)
{
	explore_report report, pool_report;
	explore_search own;
	explore_options options = *search->options;
	explore_probe probe = {.random = search, .next = &levels[0], .weight = 1};

	options.max_seconds = seconds;
	memset(levels, 0, 2 * sizeof(*levels));
	explore_search_begin(&probe.pool, search->program, &options, &pool_report,
			     explore_cpu_seconds());
	explore_search_begin(&own, search->program, &options, &report, explore_cpu_seconds());
	own.depth = search->depth;
	own.probe = &probe;
	explore_visit_all(&own); /* puts the first graph into `next` */
	probe.level = &levels[0];
	probe.next = &levels[1];
	while (!own.is_over && !probe.pool.is_over && go_down(&own))
		;
	explore_search_end(&own);
	explore_search_end(&probe.pool);
	*found = probe.found;
	return !report.stopped || strcmp(report.stopped, "max_seconds") != 0;
}

static void add_descents(explore_search *search, double seconds, double each, uint64_t most)
{
	static level levels[2];
	double end = explore_cpu_seconds() + seconds;
	explore_descents *descents = &search->descents;

	do {
		double found;

		if (!descend(search, levels, each, &found))
			return;
		descents->count++;
		descents->sum += found;
		descents->squares += found * found;
	} while (!search->program->error && --most && explore_cpu_seconds() < end);
}

static explore_size size_of(const explore_descents *descents, uint64_t known)
{
	double count = (double)descents->count, least = (double)known;
	double mean = descents->sum / count;
	double variance = descents->squares / count - mean * mean;
	double error = 2 * sqrt(fmax(variance, 0) / count);

	return (explore_size){.about = fmax(mean, least),
			      .low = fmax(mean - error, least),
			      .high = fmax(mean + error, least)};
}

void explore_estimate_more(explore_search *search, uint64_t known)
{
	add_descents(search, DESCENTS_S, DESCENT_S, 0);
	if (search->descents.count)
		explore_estimate(size_of(&search->descents, known));
}

void explore_estimate_alone(explore_search *search)
{
	const explore_options *options = search->options;
	double seconds = options->max_seconds > 0 ? options->max_seconds : INFINITY;
	double each = options->max_seconds > 0 ? fmax(options->max_seconds, DESCENT_S) : 0;

	add_descents(search, seconds, each, options->descents);
	search->report->stopped = "estimate";
	if (search->descents.count)
		search->report->size = size_of(&search->descents, 0);
	else
		explore_fail(search, "no descent was at its end in time: give more seconds");
}
