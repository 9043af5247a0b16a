/* SPDX-License-Identifier: Apache-2.0
 * graph.h - an execution graph: its nodes are events, its edges are program order, reads-from and
 * modification order.
 *
 *   graph_node.h      what a graph consists of
 *   graph.c           nodes: append, drop, choose a source, insert into modification order
 *   graph_clocks.c    what precedes a node
 *   graph_copy.c      memory, and copies of a part of a graph
 *   graph_threads.c   what a thread does after its last node; spinning; the parts of futex steps
 *   graph_choices.c   the ways to take a part
 *   graph_revisit.c   a write revisits a read
 *   consistency.c     coherence, SC, races
 *   tso.c, rc11.c     x86-TSO; the order of seq_cst in RC11
 *   graphs.c          the search: every graph once
 *   graph_sample.c    random graphs
 *   graph_search.c    the limits of a search
 *   graph_share.c, graph_merge.c   a search by several processes
 *   graph_estimate.c  how many graphs there are
 *   graph_verdict.c   what a finished graph shows
 *   graph_example.c   a graph as a list of steps
 *   graph_shrink.c    the part of a graph that an outcome needs
 *   graph_order.c     a list with the fewest switches between threads
 *
 * Why it works  Nodes stand in the order in which they were added, so the newest one is dropped in
 *               constant time. The set of nodes that precede a node, by program order and
 *               reads-from or by happens-before, is downward closed in each thread. A vector clock,
 *               one number per thread, therefore describes it exactly. The clock never changes
 *               while the node exists, because only a node that no other node depends on is given
 *               another source. So there are no bit matrices, and EXPLORE_NODES is the only limit
 *               on the size.
 * Futexes       A futex word has a wait queue: a place of its own whose value is the set of
 *               sleepers. A wait is [compare word, read queue, write queue], followed, if it slept,
 *               by [token], which reads from the wake that chose this sleeper. A wake is [read
 *               queue, write queue]. A queue write directly follows the write that its read has
 *               read, like the write of an update: this models the kernel's bucket lock. The
 *               compare of a wait takes place together with its queue read: in every order they are
 *               one node. The compare comes first in the graph because after a queue read only its
 *               queue write may come.
 * Paper         TruSt: Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#ifndef WP_EXPLORER_GRAPH_H
#define WP_EXPLORER_GRAPH_H

#include "graph_node.h"

/* The results of random descents into the tree of graphs: see graph_estimate.c. */
typedef struct explore_descents {
	uint64_t count;
	double sum, squares;
} explore_descents;

typedef struct explore_search {
	explore_program *program;
	const explore_options *options;
	explore_report *report;
	explore_graph **graphs; /* a stack of copies */
	int graphs_count, graphs_room, depth;
	int16_t place_of[EXPLORE_PLACES], location_of[EXPLORE_PLACES];
	int places_count;
	uint64_t counted, random, bytes, serial;
	uint32_t looks, looks_apart; /* at the limits, since the last one at the clock */
	double started, looked;      /* at the clock */
	uint64_t *seen; /* hashes of finished graphs, in a table with open addressing */
	uint64_t seen_count, seen_room;
	struct explore_share *share; /* data shared with other processes; NULL: there are none */
	/* The number of this process (-1: it only counts items), and the depth at which items
	 * begin. */
	int worker, split;
	uint64_t ends, ends_most; /* graphs that have ended; the most, or 0 */
	/* The items that were met; the item that this process has claimed. */
	uint64_t items, claimed;
	struct explore_probe *probe; /* a random descent; NULL: an ordinary search */
	explore_descents descents;
	int ordered; /* executions for which an order with the fewest switches was sought */
	/* A strong or light fence was met. Until then the clocks of fences stay empty. */
	bool has_fences;
	bool is_over;
} explore_search;

/* graph_copy.c */
explore_graph *explore_take(explore_search *search); /* an empty graph; NULL: the error is set */
void explore_give_back(explore_search *search);      /* the one taken last */
void explore_reset(explore_graph *graph);            /* empty, no thread started */
bool explore_make_room(explore_search *search, explore_graph *graph, int room);
/* Copies the nodes that `keeps` marks; `numbers` receives their new numbers. */
bool explore_cut_down(explore_search *search, const explore_graph *from, explore_graph *to,
		      const bool *keeps, int16_t *numbers);
/* Sets the error; returns false. */
bool explore_fail(explore_search *search, const char *format, ...);

/* graph.c */
/* Adds the next part of the thread's step, as yet without source and without a place in
 * modification order. Returns its number, or NOWHERE if an error was set. */
int explore_append(explore_search *search, explore_graph *graph, int thread,
		   const explore_step *step, int choice);
void explore_drop(explore_graph *graph); /* the newest node */
void explore_count_node(explore_graph *graph, const explore_node *node, int by);
/* Notes the number of a create or of an end. */
void explore_note_link(explore_graph *graph, const explore_node *node, int number);
/* Makes the node `read` read from `source` and sets its clocks and its value. `has_failed`: it is a
 * weak compare-and-swap that fails spuriously. False: it cannot. */
bool explore_set_source(explore_search *search, explore_graph *graph, int read, int source,
			const explore_step *step, bool has_failed);
void explore_set_waker(explore_graph *graph, int token, int waker);
/* Makes `link` a step after `source`: a begin after the create, a join after the end. */
void explore_set_link(explore_search *search, explore_graph *graph, int link, int source);
void explore_insert(explore_graph *graph, int write, int after); /* into modification order */
void explore_remove(explore_graph *graph, int write);            /* from modification order */
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
/* NOWHERE: no thread can go on. */
int explore_next_thread(const explore_search *search, const explore_graph *graph);
bool explore_can_go_on(const explore_graph *graph, int thread);
bool explore_is_urgent(const explore_graph *graph, int thread); /* in the middle of an update */
/* The node that woke the thread, or NOWHERE. */
int explore_waker(const explore_graph *graph, int thread);
/* The node after which the thread begins, or its join goes on, or NOWHERE. */
int explore_linked(const explore_graph *graph, int thread);

/* graph_choices.c */
/* How many ways there are to take the thread's next part. explore_may_choose rejects some of
 * them. */
int explore_choices(const explore_graph *graph, int thread, const explore_step *step);
bool explore_may_choose(const explore_search *search, const explore_graph *graph, int thread,
			const explore_step *step, int choice);
uint64_t explore_choose_woken(uint64_t sleepers, uint64_t most, int choice);

/* graph_revisit.c */
/* The newest node that a revisit by `write`, the newest node of all, must not remove; or NOWHERE.
 * The write may revisit each read at its place that is newer, and is no cause of the write. */
int explore_first_fixed(const explore_graph *graph, int write);
/* The graph in which the write has revisited the read, and the numbers of both there. NULL: the
 * error is set. */
explore_graph *explore_gone_back(explore_search *search, const explore_graph *graph, int *read,
				 int *write);

/* consistency.c */
/* The least rank that a new node may read from, or must come after. */
int explore_bound(const explore_search *search, const explore_graph *graph, int node);
/* May the newest node of a thread read from its source? */
bool explore_may_read(explore_search *search, const explore_graph *graph, int read);
/* The same, if the rank of its source is known to be explore_bound at least. */
bool explore_may_see(explore_search *search, const explore_graph *graph, int read);
/* May this write, which was just inserted, stand where it stands in modification order? */
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

/* graph_share.c: may this search go on below the graph? May it count another execution? */
bool explore_enters(explore_search *search, bool is_leaf);
bool explore_share_has_more(explore_search *search);
void explore_share_tell(explore_search *search); /* publishes the progress of this process */

/* graph_estimate.c */
bool explore_probe_leave(explore_search *search, const explore_graph *graph, int thread);
void explore_probe_end(explore_search *search, bool is_execution);
void explore_estimate_more(explore_search *search, uint64_t known);
void explore_estimate_alone(explore_search *search);

/* graphs.c, graph_sample.c, graph_verdict.c, graph_example.c */
void explore_visit_all(explore_search *search); /* every graph, once */
/* The graphs below this one. */
void explore_visit_thread(explore_search *search, explore_graph *graph, int thread);
void explore_sample(explore_search *search);
void explore_finish(explore_search *search, explore_graph *graph);
bool explore_is_stale(const explore_graph *graph, int thread); /* of a spinning thread */
void explore_show(explore_search *search, const explore_graph *graph, explore_outcome *outcome);
uint64_t explore_random(explore_search *search, uint64_t below);

#endif
