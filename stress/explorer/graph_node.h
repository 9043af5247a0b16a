/* SPDX-License-Identifier: Apache-2.0
 * graph_node.h - the parts of an execution graph: nodes (events), clocks, threads and places.
 *
 * Spec      none.
 * Evidence  tests/corpus/litmus. */
#ifndef WP_EXPLORER_GRAPH_NODE_H
#define WP_EXPLORER_GRAPH_NODE_H

#include "explore.h"

enum {
	EXPLORE_NODES = 2000,                   /* in one graph; more is an error */
	EXPLORE_PLACES = 2 * EXPLORE_LOCATIONS, /* each location, and the wait queue of each */
	FROM_INITIAL = -1,
	FROM_NOTHING = -2,
	NOWHERE = -1,
};

/* The part of its step that a node is. */
enum explore_part {
	PART_READ,
	PART_WRITE,
	PART_FENCE,
	PART_COMPARE,     /* wait */
	PART_QUEUE_READ,  /* wait, wake */
	PART_QUEUE_WRITE, /* wait, wake */
	PART_LEAVE_READ,  /* wait: its deadline has passed, or the wakeup is spurious */
	PART_LEAVE_WRITE,
	PART_TOKEN, /* wait: it was woken */
	PART_CHOICE,
	PART_LINK, /* create, begin, join, end: reads from the create, or from the end */
};

/* How a wait that sleeps will end: the choice of its PART_QUEUE_WRITE. */
enum explore_sleep { SLEEPS_UNTIL_WOKEN, SLEEPS_UNTIL_DEADLINE, SLEEPS_UNTIL_SPURIOUS };

enum explore_status {
	THREAD_READY,
	THREAD_ASLEEP,
	THREAD_SPINNING, /* came back to a position without having changed anything */
	THREAD_UNBORN,   /* waits until it is created */
	THREAD_JOINING,  /* waits until another thread has ended */
	THREAD_BOUNDED,  /* stopped by loop_bound */
	/* Stopped by EXPLORE_ABANDON, or its wait was to end by itself and a wake came first. */
	THREAD_ABANDONED,
	THREAD_FAILED, /* EXPLORE_FAIL */
	THREAD_ENDED,
};

/* A vector clock: the number of nodes of each thread. */
typedef struct explore_clock {
	int16_t at[EXPLORE_THREADS];
} explore_clock;

typedef struct explore_node {
	uint8_t part, kind, order; /* enum explore_part, explore_kind, explore_order */
	int8_t thread;
	bool is_first; /* the first node of its step */
	bool is_plain;
	bool is_followed;      /* a read; its write follows at once */
	bool is_update;        /* a write that must directly follow the source of its read */
	bool is_lock;          /* the step waits until the lock is free */
	bool has_failed;       /* a weak compare-and-swap that failed spuriously */
	bool is_strong;        /* a seq_cst access, or a seq_cst or heavy fence */
	int16_t index;         /* in its thread */
	int16_t place;         /* or NOWHERE */
	int16_t older;         /* the previous node at the same place, or NOWHERE */
	int16_t source;        /* the node that it reads from, or FROM_... */
	int16_t before, after; /* The neighbours of a write in modification order. NOWHERE: none. */
	/* The position of a write in modification order, from 1. The initial value has 0. */
	int16_t rank;
	int16_t choice; /* 0: the canonical choice */
	/* The number of nodes of its thread up to and with the last release fence. */
	int16_t release_fence;
	/* The same number for the last strong node, the last heavy or seq_cst fence, the last light
	 * fence, and the last node before this one at another place. */
	int16_t strong, heavy, light, elsewhere;
	explore_position position;
	uint64_t serial; /* another one whenever the node, or its source, is another one */
	uint64_t value, written;
	explore_clock causes;  /* predecessors by program order and reads-from, itself included */
	explore_clock ordered; /* predecessors by happens-before, itself included */
	explore_clock pending; /* what an acquire fence would add */
	/* Of a write: the clock that an acquiring reader joins. Of a compare: the clock that it
	 * would have without the lock of the queue. */
	explore_clock released;
	/* RC11: up to the last heavy or seq_cst fence, and up to the last light fence, that happens
	 * before this node, itself included. */
	explore_clock heavies, lights;
} explore_node;

typedef struct explore_thread {
	explore_position position;
	/* A bit for each position at which a step of the thread begins; positions share bits. */
	uint64_t seen[4];
	int16_t count, last; /* the number of nodes; the number of the last one, or NOWHERE */
	/* THREAD_SPINNING: index of the node with which the useless pass began */
	int16_t spins_from;
	uint8_t status, phase; /* enum explore_status; the part that comes next */
	int8_t joins;          /* THREAD_JOINING: the thread that has to end */
	bool is_at_lock;       /* THREAD_READY: its next step takes a lock */
} explore_thread;

typedef struct explore_place {
	/* The ends of modification order. NOWHERE: only the initial value is there. */
	int16_t first, last;
	int16_t newest; /* the newest node, or NOWHERE */
	int16_t writes;
} explore_place;

typedef struct explore_graph {
	int count, room;
	int strong_count, light_count, plain_count, heavy_count;
	int places_count, threads_count;
	explore_node *nodes;
	int16_t *numbers[EXPLORE_THREADS]; /* the numbers of a thread's nodes, by index */
	explore_thread threads[EXPLORE_THREADS];
	int16_t creates[EXPLORE_THREADS], ends[EXPLORE_THREADS]; /* nodes, or NOWHERE */
	explore_place places[EXPLORE_PLACES];
} explore_graph;

static inline bool explore_is_read(const explore_node *node)
{
	return node->source != FROM_NOTHING && node->part != PART_TOKEN && node->part != PART_LINK;
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

/* The bit of a position among those that the thread has seen. */
static inline bool explore_has_seen(const explore_thread *thread, explore_position position)
{
	return thread->seen[position / 64 % 4] >> position % 64 & 1;
}

/* Node `index` of a thread. */
static inline explore_node *explore_nth(const explore_graph *graph, int thread, int index)
{
	return &graph->nodes[graph->numbers[thread][index]];
}

/* The previous node of its thread, or NULL. */
static inline const explore_node *explore_previous(const explore_graph *graph,
						   const explore_node *node)
{
	return node->index ? explore_nth(graph, node->thread, node->index - 1) : NULL;
}

static inline int explore_rank(const explore_graph *graph, int write)
{
	return write == FROM_INITIAL ? 0 : graph->nodes[write].rank;
}

/* Modification order as a number: a read stands between its source and the next write. Of two nodes
 * at one place, the lower one precedes the higher one by reads-from, modification order and
 * from-read, which together are the extended coherence order, "eco". */
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
	for (int t = 0; t < EXPLORE_THREADS; t++) /* vectorizes to one instruction */
		into->at[t] = into->at[t] > other->at[t] ? into->at[t] : other->at[t];
}

/* What happens before the next node of the thread. The compare of a wait orders nothing after
 * it. */
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
