/* SPDX-License-Identifier: Apache-2.0
 * serve.h - an HTTP server on virtual threads: one accepts, and each connection has one of its own.
 *
 * Connections go to the carriers in turn. The thread of each makes its descriptor itself, so the
 * poller of its own carrier watches it. A stop accepts no more connections, ends those that wait
 * for a request, and lets the others answer the requests that they have read.
 *
 * If an accept fails, for example because no descriptor is free, the accepting thread sleeps for a
 * while, because no edge will come. */
#ifndef SERVE_H
#define SERVE_H

#include "http.h"
#include "io/descriptor.h"
#include "sched/vthread_start.h"

enum {
	SERVE_BUFFER = 4096,
	SERVE_PATIENCE_MS = 30000,
	SERVE_RETRY_MS = 20,
	SERVE_LINGER_MS = 1000
};

struct connection;

typedef struct server_config {
	wp_group *group;
	int fd; /* the listener */
	/* Fills the reply. number: of the connection. [its virtual thread | may park] */
	void (*answer)(void *arg, const http_parser *request, uint32_t number, http_reply *reply);
	void *arg;
	wp_group *traced; /* look at the lengths of its queues before each answer; NULL: do not */
} server_config;

/* Sums over all connections that have ended. */
typedef struct server_counts {
	uint64_t accepted, requests, depth_most;
} server_counts;

/* is_stopping is written under the lock; listener and acceptor belong to the starting thread; the
 * rest is under the lock. */
typedef struct http_server {
	server_config config;
	wp_io *listener;
	wp_vthread *acceptor;
	wp_lock lock;
	wp_cond ended;
	wp_atomic(uint32_t) is_stopping;
	uint32_t open;            /* connections with threads that have not ended */
	struct connection *first; /* the connections that have a descriptor */
	server_counts counts;
} http_server;

/* A socket that listens on 127.0.0.1. *port receives its port. -1 and errno: it failed. */
int server_listen(uint32_t *port);

/* WP_OK, or as wp_io_new and wp_vthread_start. [an OS thread] */
int server_start(http_server *server, const server_config *config);

/* Returns when no connection is left. Those that do not end by themselves have SERVE_PATIENCE_MS.
 * [the starting thread | blocks] */
void server_stop(http_server *server);

/* Reserves SIGINT and SIGTERM for server_await_signal. [before any thread is started] */
void server_block_signals(void);
void server_await_signal(void);

#endif
