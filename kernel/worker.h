/* SPDX-License-Identifier: Apache-2.0
 * worker.h - the thread of one carrier: its loop, its exit, its counts. For group.c alone.
 *
 *   fire the timers that are due; in a long drain every 16 runs
 *   drain the own queues, for yield_us; the stop was among it: [J1] exited
 *   nothing: steal from the longer queue of two siblings, drawn at random
 *   nothing: park, until a timer is due at the latest; run what the wake brought; that is nothing:
 *            fire, drain, and park at once
 *
 * Why it works  Between a wake that brought nothing and the next park there is nothing that takes
 *               long (carrier.h).
 * Spec          specs/Group.tla: Pop, Stop. Evidence  tests/test_group.py. */
#ifndef WP_WORKER_H
#define WP_WORKER_H

#include <pthread.h>

#include "group.h"
#include "trace.h"

/* One carrier's thread. home: see there. exited: J1. The last line: the owner. */
typedef struct wp_worker {
	wp_home home;
	wp_group *group;
	wp_mpsc_node stop;
	pthread_t thread;
	bool has_thread, is_stopped;
	uint32_t index;
	wp_atomic(uint32_t) exited;
	_Alignas(WP_LINE) uint64_t random;
	wp_home *runs_for; /* the home of the task that it runs */
	int64_t until_ns;  /* the deadline of its last sleep; 0: it did not sleep */
	wp_atomic(uint64_t) runs, directed, probed, recheck, fruitless;
	wp_atomic(uint64_t) drains, parks, wakes, useless_wakes;
} wp_worker;

struct wp_group {
	wp_group_config config;
	wp_traces *traces; /* NULL: no events are kept */
	wp_lock closing;
	wp_cond left;     /* a close has returned */
	bool is_closing;  /* one is inside; what follows is its */
	bool is_stopping; /* the stops are sent */
	bool is_closed;
	wp_domain *domains;   /* by number */
	wp_carrier **members; /* of all domains, one after the other */
	wp_worker *workers;
};

/* The thread's function; its argument is the worker. */
void *wp__worker_begin(void *arg);

/* The carrier that this thread is, or NULL. [any thread | wait-free] */
wp_worker *wp__worker_self(void);

/* Tells all carriers to stop and waits for every exit that comes in time. WP_OK: all threads have
 * ended. WP_TIMEOUT, WP_INTERRUPTED: call it again. [the close | blocks] */
int wp__workers_join(wp_group *group, int64_t deadline_ns);

#endif
