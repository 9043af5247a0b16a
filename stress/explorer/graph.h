/* SPDX-License-Identifier: Apache-2.0
 * graph.h - an execution graph: nodes (events), who read from whom, in what order writes came.
 *
 *   graph_node.h     what a graph is made of
 *   graph.c          nodes: append, drop, choose a source, place in modification order
 *   graph_clocks.c   what precedes a node      graph_copy.c     memory; copies of a part of a graph
 *   graph_threads.c  what a thread does after its last node; spinning; futex steps in parts
 *   graph_choices.c  the ways to take a part   graph_revisit.c  a write goes back to a read
 *   consistency.c    coherence, SC, races     tso.c  x86-TSO     rc11.c  the order of seq_cst
 *   graphs.c         the search: every graph once       graph_sample.c  random graphs
 *   graph_search.c   its limits    graph_share.c, graph_merge.c  by several processes
 *   graph_estimate.c how many graphs there are
 *   graph_verdict.c  what a finished graph shows        graph_example.c  it, as a list of steps
 *   graph_shrink.c   what of it is needed               graph_order.c    with the fewest switches
 *
 * Why it works  Nodes stand in the order in which they were added, so the newest is dropped in no
 *               time. What precedes a node (by program order and reads-from; by happens-before) is
 *               downward closed per thread: a clock, one number per thread, holds it exactly. It
 *               never changes while the node stands, since only a node that nobody depends on gets
 *               another source. So there are no bit matrices, and no width but EXPLORE_NODES.
 * Futexes       A futex word has a queue: a place of its own whose value is the set of sleepers.
 *               A wait is [compare word, read queue, write queue], then asleep: [token], which
 *               reads from the wake that chose it. A wake is [read queue, write queue]. Queue
 *               writes follow what was read at once, as an update's do: the kernel's bucket lock.
 *               A wait's compare comes when its queue read does: one node in every order. It stands
 *               first, as a queue read whose source is taken can only have its write come next.
 * Spec          none: TruSt, POPL 2022.  Evidence  tests/corpus/litmus. */
#ifndef WP_EXPLORER_GRAPH_H
#define WP_EXPLORER_GRAPH_H

#include "graph_node.h"

/* Of random descents into the tree of graphs: see graph_estimate.c. */
typedef struct explore_descents {
	uint64_t count;
	double sum, squares;
} explore_descents;

/* A search under way. */
typedef struct explore_search {
	explore_program *program;
	const explore_options *options;
	explore_report *report;
	explore_graph **graphs; /* a stack of copies */
	int graphs_count, graphs_room, depth;
	int16_t place_of[EXPLORE_PLACES], location_of[EXPLORE_PLACES];
	int places_count;
	uint64_t counted, looks, random, bytes;
	double started;
	uint64_t *seen; /* hashes of finished graphs; open addressing */
	uint64_t seen_count, seen_room;
	struct explore_share *share; /* with other processes; NULL: it is alone */
	int worker, split;           /* which of them, -1: counts items; visits above items */
	uint64_t items, claimed;     /* met so far; this process's */
	struct explore_probe *probe; /* a random descent; NULL: no such thing */
	explore_descents descents;
	int ordered;     /* executions for which the fewest switches were looked for */
	bool has_fences; /* a strong or light one was met: until then no clock has any */
	bool is_over;
} explore_search;

/* graph_copy.c */
explore_graph *explore_take(explore_search *search); /* an empty graph; NULL: an error is set */
void explore_give_back(explore_search *search);      /* the one taken last */
void explore_reset(explore_graph *graph);            /* empty, no thread started */
bool explore_make_room(explore_search *search, explore_graph *graph, int room);
/* Copies the nodes that `keeps` marks; `numbers` gives their new numbers. */
bool explore_cut_down(explore_search *search, const explore_graph *from, explore_graph *to,
		      const bool *keeps, int16_t *numbers);
bool explore_fail(explore_search *search, const char *format, ...); /* sets the error; false */

/* graph.c */
/* Adds the next part of a thread's step, with no source and no place in modification order yet;
 * gives its number, or NOWHERE: an error is set. */
int explore_append(explore_search *search, explore_graph *graph, int thread,
		   const explore_step *step, int choice);
void explore_drop(explore_graph *graph); /* the newest node */
void explore_count_node(explore_graph *graph, const explore_node *node, int by);
/* Makes node `read` read from `source`; its clocks and value follow. `has_failed`: as a weak
 * compare-and-swap that fails for no reason; false: it cannot. */
bool explore_set_source(explore_search *search, explore_graph *graph, int read, int source,
			const explore_step *step, bool has_failed);
void explore_set_waker(explore_graph *graph, int token, int waker);
void explore_insert(explore_graph *graph, int write, int after); /* into modification order */
void explore_remove(explore_graph *graph, int write);            /* from it */
uint64_t explore_initial(const explore_search *search, int place);

/* graph_clocks.c */
void explore_begin_clocks(const explore_graph *graph, explore_node *node);
void explore_set_marks(const explore_graph *graph, explore_node *node);
void explore_set_released(const explore_search *search, const explore_graph *graph,
			  explore_node *write);
void explore_set_fences(const explore_search *search, const explore_graph *graph,
			explore_node *node);

/* graph_threads.c */
void explore_start_thread(explore_search *search, explore_graph *graph, int thread);
void explore_go_on(explore_search *search, explore_graph *graph, int thread);
int explore_next_thread(const explore_graph *graph); /* NOWHERE: none can go on */
bool explore_can_go_on(const explore_graph *graph, int thread);
bool explore_is_urgent(const explore_graph *graph, int thread); /* in the middle of an update */
int explore_waker(const explore_graph *graph, int thread);      /* node that woke it, or NOWHERE */

/* graph_choices.c */
/* Ways to take the thread's next part; not all of them may be chosen. */
int explore_choices(const explore_graph *graph, int thread, const explore_step *step);
bool explore_may_choose(const explore_search *search, const explore_graph *graph, int thread,
			const explore_step *step, int choice);
uint64_t explore_choose_woken(uint64_t sleepers, uint64_t most, int choice);

/* graph_revisit.c: the graph in which the newest node, a write, has gone back to a read, and the
 * numbers that both have there; NULL: it may not. */
explore_graph *explore_gone_back(explore_search *search, const explore_graph *graph, int *read,
				 int *write);

/* consistency.c */
/* The least rank that a new node may read from, or must come after. */
int explore_bound(const explore_search *search, const explore_graph *graph, int node);
/* May the newest node of a thread read from its source? */
bool explore_may_read(explore_search *search, const explore_graph *graph, int read);
/* Is this write, which was just placed, at a place where it may be? */
bool explore_may_stand(explore_search *search, const explore_graph *graph, int write);
bool explore_is_race(const explore_graph *graph);
bool explore_conflict(const explore_node *a, const explore_node *b); /* at one place */
bool explore_has_update_after(const explore_graph *graph, int place, int write);
int explore_must_follow(const explore_graph *graph, const explore_node *write);

bool explore_is_tso(explore_search *search, const explore_graph *graph);  /* tso.c */
bool explore_is_rc11(explore_search *search, const explore_graph *graph); /* rc11.c */

/* graph_search.c */
bool explore_is_over(explore_search *search);
void explore_stop(explore_search *search, const char *why);

/* graph_share.c: may this process go on below the graph? May it count another one? */
bool explore_enters(explore_search *search, bool is_leaf);
bool explore_share_has_more(explore_search *search);
void explore_share_tell(explore_search *search); /* how far it is */

/* graph_estimate.c */
bool explore_probe_leave(explore_search *search, const explore_graph *graph, int thread);
void explore_probe_end(explore_search *search, bool is_execution);
void explore_estimate_more(explore_search *search, uint64_t known);
void explore_estimate_alone(explore_search *search);

/* graphs.c, graph_sample.c, graph_verdict.c, graph_example.c */
void explore_visit_all(explore_search *search);                        /* every graph, once */
void explore_visit_next(explore_search *search, explore_graph *graph); /* below this one */
void explore_sample(explore_search *search);
void explore_finish(explore_search *search, explore_graph *graph);
bool explore_is_stale(const explore_graph *graph, int thread); /* a spinning one */
void explore_show(explore_search *search, const explore_graph *graph, explore_outcome *outcome);
uint64_t explore_random(explore_search *search, uint64_t below);

#endif
