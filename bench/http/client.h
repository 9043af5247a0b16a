/* SPDX-License-Identifier: Apache-2.0
 * client.h - one thread's connections, and the requests that are due on them.
 *
 * Open loop: request k is due at start + k / rate, whatever became of those before it. With no
 * connection free, or `inflight` requests out, it waits here, and its latency still counts from when
 * it was due: a server that stalls is charged for every request of the stall, and not for one per
 * connection (coordinated omission). Saturating: `inflight` at once, each due when it is sent. */
#ifndef BENCH_HTTP_CLIENT_H
#define BENCH_HTTP_CLIENT_H

#include "histogram.h"

#include <netinet/in.h>
#include <stdbool.h>

enum { IN_SIZE = 1000 }; /* of a reply: one that is longer is an error */

typedef struct connection {
	int64_t due_ns; /* of the request that is out */
	int fd;         /* -1: lost, and could not be opened again */
	bool busy;
	unsigned got; /* bytes of the reply */
	char in[IN_SIZE];
} connection;

typedef struct client {
	struct sockaddr_in to;
	unsigned connections;
	double period_ns; /* 0: saturating */
	unsigned inflight;
	int64_t start_ns, warm_ns, end_ns, drained_ns; /* counted: what is due from warm to end */
	histogram latency;
	histogram lag; /* of the send behind its time, while a connection was free: our own delay */
	uint64_t answered, errors, unanswered; /* of those that are due from warm to end */
	uint64_t completed;                    /* answers that came from warm to end */

	connection *all;
	unsigned *free; /* a ring, so that all connections are used in turn */
	unsigned first_free, free_count, lost;
	uint64_t next; /* the request that is due next */
	unsigned out;
	int poll;
	bool starved; /* requests are due and may not be sent yet */
} client;

int64_t now_ns(void);

/* Opens the connections. [its thread | blocks | false: errno says why] */
bool client_open(client *self);

/* Runs to the end, and until every answer is there or drained_ns. [its thread | blocks | never] */
void client_run(client *self);

void client_close(client *self);

#endif
