/* SPDX-License-Identifier: Apache-2.0
 * graph_order.c - lists an execution with the fewest switches from thread to thread. The algorithm
 * is a shortest-path search with one bucket per cost (Dial, CACM 1969).
 *
 *   point    how much of each thread is listed, and which thread took the last step
 *   edge     one more step; it costs 1 if another thread takes it, and 2 if it is out of turn
 *
 * Why it works  Points are settled in the order of their cost, so the first path to the point at
 *               which everything is listed is a cheapest one. Happens-before belongs to the graph:
 *               every order in which steps are ready tells the same execution.
 * Spec          none.
 * Evidence      tests/judge/explore/test_minimal.py. */
#include "graph_list.h"

#include <string.h>

enum { POINTS = 1 << 15, SLOTS = 1 << 16, OUT_OF_TURN = 2, NONE = -1 };

typedef struct point {
	int16_t done[EXPLORE_THREADS];
	int8_t last, taken; /* the thread of the last event; the thread of the last block */
	int from, next;     /* numbers of points; next: in the same queue */
} point;

static struct {
	point points[POINTS];
	int count;
	int settled[SLOTS]; /* number + 1; open addressing */
	int queues[EXPLORE_ORDER_MOST + 4];
} all;

static uint32_t hash(const point *point)
{
	uint32_t hash = (uint32_t)(point->last + 1);

	for (int t = 0; t < EXPLORE_THREADS; t++)
		hash = (hash ^ (uint32_t)point->done[t]) * 0x9e3779b1u;
	return hash >> 16;
}

/* False: the point was settled before. */
static bool settle(int number)
{
	const point *point = &all.points[number];
	uint32_t slot = hash(point);

	for (; all.settled[slot]; slot = (slot + 1) % SLOTS) {
		const struct point *other = &all.points[all.settled[slot] - 1];

		if (other->last == point->last &&
		    !memcmp(other->done, point->done, sizeof(point->done)))
			return false;
	}
	all.settled[slot] = number + 1;
	return true;
}

static bool is_all(const explore_list *list)
{
	for (int t = 0; t < EXPLORE_THREADS; t++)
		if (list->done[t] < list->graph->threads[t].count)
			return false;
	return true;
}

/* Queues the point that one more step of thread t leads to. */
static void go_on(const explore_list *list, int from, int t, int cost, int below)
{
	explore_block block = explore_next_block(list, t);
	enum explore_readiness ready = explore_readiness(list, &block);
	point *to = &all.points[all.count];
	int last = all.points[from].last;
	bool is_token = ready && explore_nth(list->graph, t, block.first)->part == PART_TOKEN;

	if (!ready || all.count == POINTS)
		return;
	cost += (last >= 0 && last != t && !is_token) + (ready == READY ? OUT_OF_TURN : 0);
	if (cost >= below)
		return;
	*to = (point){.last = (int8_t)(is_token ? last : t), .taken = (int8_t)t, .from = from};
	memcpy(to->done, list->done, sizeof(to->done));
	to->done[t] = (int16_t)block.end;
	to->next = all.queues[cost];
	all.queues[cost] = all.count++;
}

static void write_order(int point, uint8_t order[EXPLORE_NODES + 1])
{
	int count = 0;

	for (int p = point; all.points[p].from != NONE; p = all.points[p].from)
		count++;
	order[count] = 0; /* has nothing left to list then, as no thread has */
	for (int p = point; all.points[p].from != NONE; p = all.points[p].from)
		order[--count] = (uint8_t)all.points[p].taken;
}

int explore_order(const explore_list *empty, int below, uint8_t order[EXPLORE_NODES + 1])
{
	explore_list list = *empty;

	memset(all.settled, 0, sizeof(all.settled));
	memset(all.queues, NONE, sizeof(all.queues));
	all.points[0] = (point){.last = NONE, .from = NONE, .next = NONE};
	all.count = 1;
	all.queues[0] = 0;
	for (int cost = 0; cost < below;) {
		int at = all.queues[cost];

		if (at == NONE) {
			cost++;
			continue;
		}
		all.queues[cost] = all.points[at].next;
		if (!settle(at))
			continue;
		memcpy(list.done, all.points[at].done, sizeof(list.done));
		if (is_all(&list)) {
			write_order(at, order);
			return cost;
		}
		for (int t = 0; t < EXPLORE_THREADS; t++)
			go_on(&list, at, t, cost, below);
	}
	return NONE;
}
