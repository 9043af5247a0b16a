/* SPDX-License-Identifier: Apache-2.0
 * client.h - the connections of one thread, and the requests that are due on them.
 *
 * Open loop: request k is due at start + k / rate, whatever happened to the requests before it. If
 * no connection is free, or `inflight` requests are out, it waits here, and its latency still
 * counts from the time when it was due. So a server that stalls is charged for every request during
 * the stall, and not for one per connection (coordinated omission). Saturating: `inflight` requests
 * at once, each due when it is sent. */
#ifndef BENCH_HTTP_CLIENT_H
#define BENCH_HTTP_CLIENT_H

#include "histogram.h"

#include <netinet/in.h>
#include <stdbool.h>

enum { IN_SIZE = 1000 }; /* of a reply; a longer one is an error */

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
	/* Requests count that are due from warm to end. */
	int64_t start_ns, warm_ns, end_ns, drained_ns;
	histogram latency;
	/* Delays of sends behind their time while a connection was free: the delay of this
	 * program. */
	histogram lag;
	uint64_t answered, errors, unanswered; /* of the requests that are due from warm to end */
	uint64_t completed;                    /* replies that came from warm to end */

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

/* Runs to the end, and then until every reply is there or drained_ns has passed. [its thread |
 * blocks | never] */
void client_run(client *self);

void client_close(client *self);

#endif
