/* SPDX-License-Identifier: Apache-2.0
 * connection.h - one client of a server, with its requests one after the other. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "serve.h"

/* One client. next and back are under the server's lock; its own thread has the rest. */
typedef struct connection {
	struct connection *next, **back;
	http_server *server;
	wp_io *io;
	int fd;
	uint32_t number;
	uint64_t requests, depth_most;
	size_t at, end; /* bytes that are read and not parsed */
	http_parser parser;
	char bytes[SERVE_BUFFER];
} connection;

/* The body of its thread: runs until one side ends it, and frees it. */
int connection_run(void *client);

#endif
