/* SPDX-License-Identifier: Apache-2.0
 * numbered.h - a bounded run queue of two slots, the global queue behind it, and numbers for nodes.
 *
 * Node n is the number n; 0 means no node. Include it behind `enum { NODES = 2 };`. */
#define WP_LOCAL_CAPACITY 2
#include "litmus.h"
#include "queue/local_queue.h"
#include "stress.h"

struct state {
	wp_local_queue local, own;
	wp_mpsc global;
	wp_mpsc_node nodes[NODES];
};

STRESS_INIT(init)
{
	wp_local_queue_init(&state->local);
	wp_local_queue_init(&state->own);
	wp_mpsc_init(&state->global);
}

static unsigned number(struct state *state, wp_mpsc_node *node)
{
	return node == NULL ? 0 : (unsigned)(node - state->nodes) + 1;
}
