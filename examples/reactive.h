/* SPDX-License-Identifier: Apache-2.0
 * reactive.h - the reactive mode has no virtual threads. Each OS thread has an epoll, and each
 * client and each connection to the backend is a state machine that advances at events.
 *
 *   client    READING -> CALLING -> WRITING -> READING, or LINGERING
 *   line      CONNECTING -> SENDING -> RECEIVING -> IDLE -> SENDING
 *
 * Events are edge-triggered, and the state of each direction is kept: a read that did not fill its
 * buffer has emptied the socket, so the next one waits for an edge. That is one read and one write
 * per message. */
#ifndef REACTIVE_H
#define REACTIVE_H

#include <pthread.h>

#include "echo.h"

enum source_kind { SOURCE_EVENT, SOURCE_CLIENT, SOURCE_LINE, SOURCE_DEAD };

/* A descriptor in an epoll. Closed ones are freed when all events of a round were handled. */
typedef struct source {
	enum source_kind kind;
	int fd;
	bool is_readable, is_writable; /* as far as is known */
	bool has_ended;                /* the other side writes no more: read up to the end */
	struct source *next_dead;
} source;

enum client_state { CLIENT_READING, CLIENT_CALLING, CLIENT_WRITING, CLIENT_LINGERING };

typedef struct client {
	source source;
	struct reactor *reactor;
	struct client *next, **back; /* under the reactor's lock */
	enum client_state state;
	bool goes_on; /* after this reply */
	uint32_t calls, pending;
	http_reply halves[2];
	http_parser parser;
	size_t at, end, out_at, out_end;
	char bytes[SERVE_BUFFER], out[HTTP_REPLY];
	int64_t until_ns; /* LINGERING */
} client;

enum line_state { LINE_CONNECTING, LINE_SENDING, LINE_RECEIVING, LINE_IDLE };

typedef struct line {
	source source;
	struct reactor *reactor;
	struct line *next, **back; /* IDLE */
	enum line_state state;
	bool is_used;
	size_t sent;
	client *client;
	http_reply *reply;
	http_parser parser;
} line;

/* first and is_stopping are under the lock; its own thread has the rest. */
typedef struct reactor {
	const echo_config *config;
	uint32_t index, lingering;
	int epoll;
	source event;
	pthread_t thread;
	pthread_mutex_t lock;
	client *first;
	bool is_stopping, is_told;
	int64_t until_ns; /* after a stop: how long clients may take */
	line *idle;
	source *dead;
	server_counts served;
	wp_poll_counts polled;
} reactor;

/* Begins a call for the caller. When it is over, perhaps at once, `reply` is filled and the
 * caller's pending is one less. */
void line_begin(reactor *of, client *caller, http_reply *reply);
/* Handles an event. True: a call is over, and its client may go on. */
bool line_go(line *one);
void line_drop(line *one);

/* Advances the client as far as it can go. */
void client_go(client *one);
void client_drop(client *one);

/* Closes the descriptor; the source is freed later. */
void reactor_bury(reactor *of, source *dead);
/* False and errno. [any thread, before the source is published] */
bool reactor_watch(reactor *of, source *one);

/* A read that updates is_readable: > 0; 0: the end; -1 and EAGAIN: wait; or another errno. */
ssize_t source_read(source *from, char *bytes, size_t size);
ssize_t source_write(source *to, const char *bytes, size_t size);

#endif
