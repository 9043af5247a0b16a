/* SPDX-License-Identifier: Apache-2.0
 * run_queues.c CASE - a task in each place where one may wait: the questions that find it, and the
 * time when it is polled. Prints what is lost. */
#include "../case_main.h"
#include "sched/run_queues.h"
#include "thread/task.h"

enum { PLACES = 6 };

static wp_carrier carrier;
static wp_domain domain;
static wp_local_queue_carrier bounded;
static wp_mpsc_node tasks[PLACES];

/* With siblings, and a ring; or without. */
static void lay_out(bool has_ring)
{
	static wp_carrier *by_index[] = {&carrier};

	wp_domain_init(&domain, by_index, 1);
	wp_carrier_init(&carrier, has_ring ? &domain : NULL, 0);
	if (!has_ring)
		return;
	wp_local_queue_carrier_init(&carrier, &bounded);
}

static void polls(int task, const char *what)
{
	check(wp_carrier_poll(&carrier) == &tasks[task], what);
}

static bool answers(bool is_private, bool is_own, bool has_some)
{
	return wp__carrier_has_private(&carrier) == is_private &&
	       wp__carrier_has_own(&carrier) == is_own &&
	       wp__carrier_has_runnable(&carrier) == (is_private || is_own) &&
	       wp__carrier_has_some(&carrier) == has_some &&
	       wp__carrier_is_hit(&carrier, true) == has_some;
}

/* One place after the other. */
CASE(asked)
{
	lay_out(false);
	check(answers(false, false, false), "that there is nothing");
	carrier.next = &tasks[0];
	check(answers(true, false, false), "what its poller has stolen");
	polls(0, "that");
	wp_private_fifo_push(&carrier.private_fifo, &tasks[0]);
	check(answers(true, false, false), "what is in its private FIFO");
	polls(0, "that");
	wp_mpsc_push(&carrier.queue, &tasks[0]);
	check(answers(false, true, true), "what others have pushed");
	polls(0, "that");
	wp_mpsc_push(&carrier.inbox, &tasks[0]);
	check(answers(false, true, false), "what is pinned to it");
	polls(0, "that");
	lay_out(true);
	wp__local_queue_carrier_push(&carrier, &tasks[0]);
	check(answers(false, true, true), "what is in its ring");
	polls(0, "that");
	wp__local_queue_carrier_keep(&carrier, &tasks[0]);
	check(answers(false, true, false), "what is in the next slot");
	polls(0, "that");
	check(answers(false, false, false), "that there is nothing more");
}

/* Without siblings: tasks that its poller has stolen, and then private FIFO and queues in turn. */
CASE(private)
{
	lay_out(false);
	for (int task = 1; task < 4; task++)
		wp_private_fifo_push(&carrier.private_fifo, &tasks[task]);
	wp_mpsc_push(&carrier.queue, &tasks[4]);
	wp_mpsc_push(&carrier.inbox, &tasks[5]);
	carrier.next = &tasks[0];
	polls(0, "what its poller has stolen: first");
	polls(1, "the private FIFO's turn");
	polls(4, "the turn of what others push: the queue");
	polls(2, "the private FIFO's turn again");
	polls(5, "the inbox after the queue");
	polls(3, "the end of the private FIFO");
	check(wp_carrier_poll(&carrier) == NULL, "that there is nothing more");
}

/* With a ring: tasks that its poller has stolen; the next slot; ring and queues in turn. */
CASE(ring)
{
	lay_out(true);
	carrier.next = &tasks[0];
	wp__local_queue_carrier_keep(&carrier, &tasks[1]);
	wp__local_queue_carrier_push(&carrier, &tasks[2]);
	wp__local_queue_carrier_push(&carrier, &tasks[3]);
	wp_mpsc_push(&carrier.inbox, &tasks[4]);
	wp_mpsc_push(&carrier.queue, &tasks[5]);
	polls(0, "what its poller has stolen: first");
	polls(1, "the next slot");
	polls(2, "the ring's turn");
	polls(5, "the turn of what others push: the queue");
	polls(3, "the ring's turn again");
	polls(4, "the inbox after the queue");
	check(wp_carrier_poll(&carrier) == NULL, "that there is nothing more");
}

/* A close takes everything that is left, whatever turn it is. */
CASE(left)
{
	wp_mpsc_node *node;
	int many = 0;

	lay_out(true);
	carrier.next = &tasks[0];
	wp__local_queue_carrier_keep(&carrier, &tasks[1]);
	wp__local_queue_carrier_push(&carrier, &tasks[2]);
	wp_mpsc_push(&carrier.inbox, &tasks[3]);
	wp_mpsc_push(&carrier.queue, &tasks[4]);
	wp_private_fifo_push(&carrier.private_fifo, &tasks[5]);
	while ((node = wp__carrier_take_left(&carrier)) != NULL)
		many++;
	check(many == 6, "one of them");
}
