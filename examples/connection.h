/* SPDX-License-Identifier: Apache-2.0
 * connection.h - one client of a server: its requests, one after the other. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "serve.h"

/* One client. next, back: under the server's lock; the rest: its thread. */
typedef struct connection {
	struct connection *next, **back;
	http_server *server;
	wp_io *io;
	int fd;
	uint32_t number;
	uint64_t requests, depth_most;
	size_t at, end; /* what is read, and not parsed */
	http_parser parser;
	char bytes[SERVE_BUFFER];
} connection;

/* Its thread's body: until one side ends it; frees it. */
int connection_run(void *client);

#endif
