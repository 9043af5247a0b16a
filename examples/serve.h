/* SPDX-License-Identifier: Apache-2.0
 * serve.h - an HTTP server on virtual threads: one accepts, and each connection has one of its own.
 *
 * Connections go to the carriers in turn; each makes its descriptor itself, so its carrier's poller
 * is told of it. A stop accepts no more, tells connections that wait for a request that there will be
 * none, and lets the others answer what they have read.
 *
 * An accept that fails, for want of descriptors say: who accepts sleeps for a while, for that brings
 * no edge. */
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
	int fd; /* it listens */
	/* Fills the reply. number: of the connection. [its virtual thread | may park] */
	void (*answer)(void *arg, const http_parser *request, uint32_t number, http_reply *reply);
	void *arg;
	wp_group *traced; /* look at its queues' lengths before each answer; NULL: do not */
} server_config;

/* Of all connections that have ended. */
typedef struct server_counts {
	uint64_t accepted, requests, depth_most;
} server_counts;

/* is_stopping: written under the lock; listener, acceptor: who starts it; the rest: under the lock. */
typedef struct http_server {
	server_config config;
	wp_io *listener;
	wp_vthread *acceptor;
	wp_lock lock;
	wp_cond ended;
	wp_atomic(uint32_t) is_stopping;
	uint32_t open;            /* connections: their threads have not ended */
	struct connection *first; /* those that have a descriptor */
	server_counts counts;
} http_server;

/* A socket that listens on 127.0.0.1, whose port is in *port then; -1 and errno. */
int server_listen(uint32_t *port);

/* WP_OK, or as wp_io_new, wp_vthread_start. [an OS thread] */
int server_start(http_server *server, const server_config *config);

/* Returns when no connection is left: those that do not end by themselves have SERVE_PATIENCE_MS.
 * [who started it | blocks] */
void server_stop(http_server *server);

/* SIGINT and SIGTERM are kept for server_await_signal. [before any thread is started] */
void server_block_signals(void);
void server_await_signal(void);

#endif
