/* SPDX-License-Identifier: Apache-2.0
 * graph_node.h - what a graph is made of: nodes, clocks, threads, places; and what a node is.
 *
 * Spec  none. Evidence  tests/corpus/litmus. */
#ifndef WP_EXPLORER_GRAPH_NODE_H
#define WP_EXPLORER_GRAPH_NODE_H

#include "explore.h"

enum {
	EXPLORE_NODES = 2000,                   /* in a graph; beyond is an error */
	EXPLORE_PLACES = 2 * EXPLORE_LOCATIONS, /* locations, and a queue for each */
	FROM_INITIAL = -1,
	FROM_NOTHING = -2,
	NOWHERE = -1,
};

/* Which part of its step a node is. */
enum explore_part {
	PART_READ,
	PART_WRITE,
	PART_FENCE,
	PART_COMPARE,     /* wait */
	PART_QUEUE_READ,  /* wait, wake */
	PART_QUEUE_WRITE, /* wait, wake */
	PART_LEAVE_READ,  /* wait: its time is out, or for no reason */
	PART_LEAVE_WRITE,
	PART_TOKEN, /* wait: was woken */
	PART_CHOICE,
};

/* How a wait that sleeps goes on: the choice of its PART_QUEUE_WRITE. */
enum explore_sleep { SLEEPS_UNTIL_WOKEN, SLEEPS_UNTIL_DEADLINE, SLEEPS_UNTIL_SPURIOUS };

enum explore_status {
	THREAD_READY,
	THREAD_ASLEEP,
	THREAD_SPINNING,  /* came back to a position, having changed nothing */
	THREAD_BOUNDED,   /* loop_bound */
	THREAD_ABANDONED, /* EXPLORE_ABANDON, or a wake came before its deadline after all */
	THREAD_FAILED,    /* EXPLORE_FAIL */
	THREAD_ENDED,
};

/* How many nodes of each thread. */
typedef struct explore_clock {
	int16_t at[EXPLORE_THREADS];
} explore_clock;

typedef struct explore_node {
	uint8_t part, kind, order; /* enum explore_part, _kind, _order */
	int8_t thread;
	bool is_first; /* of its step */
	bool is_plain;
	bool is_followed;      /* a read whose write comes at once */
	bool is_update;        /* a write that must follow what its read read */
	bool has_failed;       /* a weak compare-and-swap, for no reason */
	bool is_strong;        /* seq_cst access, seq_cst or heavy fence */
	int16_t index;         /* in its thread */
	int16_t place;         /* or NOWHERE */
	int16_t older;         /* node at the same place, or NOWHERE */
	int16_t source;        /* what it reads from: a node or FROM_... */
	int16_t before, after; /* a write's neighbours in modification order; NOWHERE: none */
	int16_t rank;          /* a write's number in modification order, from 1; initial: 0 */
	int16_t choice;        /* 0: the canonical one */
	int16_t release_fence; /* of its thread, up to here: how many nodes to the last one */
	int16_t strong, heavy, light, elsewhere; /* the same: strong; heavy or seq_cst fence; light
						    fence; before it, at another place */
	explore_position position;
	uint64_t value, written;
	explore_clock causes;   /* program order and reads-from, itself included */
	explore_clock ordered;  /* happens-before, itself included */
	explore_clock pending;  /* what an acquire fence would add */
	explore_clock released; /* what an acquiring reader of this write gets; of a compare, what
				      it would be ordered by without the queue's lock */
	explore_clock heavies, lights; /* RC11: up to the last heavy or seq_cst fence, and light
					  fence, that happens before it, itself included */
} explore_node;

typedef struct explore_thread {
	explore_position position;
	int16_t count, last;   /* nodes; the last one's number, or NOWHERE */
	int16_t spins_from;    /* THREAD_SPINNING: index of the node that began the useless pass */
	uint8_t status, phase; /* enum explore_status; the part that comes next */
} explore_thread;

typedef struct explore_place {
	int16_t first, last; /* writes in modification order; NOWHERE: none but the initial one */
	int16_t newest;      /* node, or NOWHERE */
	int16_t writes;
} explore_place;

typedef struct explore_graph {
	int count, room;
	int strong_count, light_count, plain_count, heavy_count;
	int places_count;
	explore_node *nodes;
	int16_t *numbers[EXPLORE_THREADS]; /* of a thread's nodes, by index */
	explore_thread threads[EXPLORE_THREADS];
	explore_place places[EXPLORE_PLACES];
} explore_graph;

static inline bool explore_is_read(const explore_node *node)
{
	return node->source != FROM_NOTHING && node->part != PART_TOKEN;
}

static inline bool explore_is_write(const explore_node *node)
{
	return node->part == PART_WRITE || node->part == PART_QUEUE_WRITE ||
	       node->part == PART_LEAVE_WRITE;
}

static inline bool explore_part_reads(int part)
{
	return part == PART_READ || part == PART_QUEUE_READ || part == PART_COMPARE ||
	       part == PART_LEAVE_READ;
}

static inline bool explore_part_writes(int part)
{
	return part == PART_WRITE || part == PART_QUEUE_WRITE || part == PART_LEAVE_WRITE;
}

/* Node `index` of a thread. */
static inline explore_node *explore_nth(const explore_graph *graph, int thread, int index)
{
	return &graph->nodes[graph->numbers[thread][index]];
}

/* Of its thread, or NULL. */
static inline const explore_node *explore_previous(const explore_graph *graph,
						   const explore_node *node)
{
	return node->index ? explore_nth(graph, node->thread, node->index - 1) : NULL;
}

static inline int explore_rank(const explore_graph *graph, int write)
{
	return write == FROM_INITIAL ? 0 : graph->nodes[write].rank;
}

/* Modification order as a number: a read stands between its source and the next write. Of two at
 * one place, the lower precedes the higher by reads-from, modification order, from-read: "eco". */
static inline int explore_height(const explore_graph *graph, const explore_node *node)
{
	return explore_is_write(node) ? 2 * node->rank : 2 * explore_rank(graph, node->source) + 1;
}

static inline bool explore_holds(const explore_clock *clock, const explore_node *node)
{
	return clock->at[node->thread] > node->index;
}

static inline void explore_join(explore_clock *restrict into, const explore_clock *restrict other)
{
	for (int t = 0; t < EXPLORE_THREADS; t++) /* one instruction */
		into->at[t] = into->at[t] > other->at[t] ? into->at[t] : other->at[t];
}

/* What happens before the thread's next node. A wait orders nothing that comes after it. */
static inline const explore_clock *explore_kept(const explore_node *node)
{
	return node->part == PART_COMPARE ? &node->released : &node->ordered;
}

static inline bool explore_acquires(int order)
{
	return order == EXPLORE_ACQUIRE || order == EXPLORE_ACQ_REL || order == EXPLORE_SEQ_CST;
}

static inline bool explore_releases(int order)
{
	return order == EXPLORE_RELEASE || order == EXPLORE_ACQ_REL || order == EXPLORE_SEQ_CST;
}

#endif
