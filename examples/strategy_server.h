/* SPDX-License-Identifier: Apache-2.0
 * strategy_server.h - the strategy mode has no virtual threads. A strategy decides which thread of
 * a pool waits for descriptors, and which one runs the handler of a client with a request.
 *
 *   the producer, one thread at a time            a task: a thread that has a client
 *     events left? their client: a task           read, parse, call the backend, write
 *     updates: join, read, leave                  say what is next: push the client
 *     look; [guard.1] [guard.2]                   [guard.4] [guard.5]
 *     updates? else block                         [guard.6] asleep: write its eventfd
 *     [guard.7] leave                             the client is not its own any more
 *
 * Why it works  A client is armed for one event (EPOLLONESHOT). So it belongs to the producer or to
 *               one task, and the queue of updates hands it back: each client has at most one
 *               update. A task that pushes an update is a producer in the sense of guard.h: the
 *               selector looks at the updates once more after it has promised to sleep. The
 *               producer alone owns the list, the descriptors and the deadlines, and the strategy
 *               orders producers.
 *               A task that must not block (a tagged thread, or --kind non-blocking) does the work
 *               that does not block, and leaves the rest to the pool.
 * Not promised  A producer while all threads of the pool run handlers.
 * Spec          specs/wakeup/Guard.tla: NoLostWakeup, WakeIsClaimed; specs/pool/Strategy.tla:
 *               SingleProducer.
 * Evidence      tests/examples/test_http*.py; twins strategy_server_unwoken,
 *               strategy_server_arms_early. */
#ifndef STRATEGY_SERVER_H
#define STRATEGY_SERVER_H

#include <pthread.h>
#include <sys/epoll.h>

#include "echo.h"
#include "wakeup/guard.h"
#include "queue/mpsc.h"
#include "wakeup/parker.h"
#include "pool/pool.h"
#include "pool/strategy.h"

enum { STRATEGY_EVENTS = 128 };

/* Connections to the backend that are kept. */
typedef struct strategy_lines {
	struct sockaddr_in address;
	pthread_mutex_t lock;
	struct strategy_line *idle;
} strategy_lines;

void strategy_lines_init(strategy_lines *lines, const struct sockaddr_in *address);
void strategy_lines_fini(strategy_lines *lines);
/* Makes `many` calls at once. Each reply is the backend's, or 502 and the reason. [any thread |
 * blocks] */
void strategy_call(strategy_lines *lines, http_reply *replies, uint32_t many);

/* Shared by all selectors. */
typedef struct strategy_server {
	const echo_config *config;
	wp_pool *pool;
	wp_atomic(uint32_t) bound; /* threads */
	strategy_lines lines;
	wp_atomic(bool) is_stopping; /* a stale read costs one request more */
	struct strategy_selector *selectors;
} strategy_server;

/* From `events` on, the fields belong to the producer. */
typedef struct strategy_selector {
	_Alignas(WP_LINE) wp_mpsc updates;
	wp_guard guard;
	wp_atomic(uint64_t) wakeups;
	wp_strategy strategy;
	strategy_server *of;
	uint32_t index;
	int epoll, event;
	wp_mpsc_node stop; /* also an update */
	wp_parker ended;
	wp_job production; /* the job of a thread that is to produce */
	struct epoll_event events[STRATEGY_EVENTS];
	int at, count;
	struct strategy_client *first;
	uint32_t timed;   /* armed clients with a deadline */
	int64_t until_ns; /* after a stop: how long clients may take */
	bool is_told, is_over;
	server_counts served;
	wp_poll_counts polled;
} strategy_selector;

enum strategy_next { STRATEGY_JOIN, STRATEGY_READ, STRATEGY_LEAVE, STRATEGY_POOL, STRATEGY_ON };
enum strategy_state { STRATEGY_READING, STRATEGY_ANSWERING, STRATEGY_WRITING, STRATEGY_LINGERING };

/* next, back and is_armed belong to the producer, the rest to the owner of the client. */
typedef struct strategy_client {
	wp_mpsc_node update;
	struct strategy_client *next, **back;
	strategy_selector *selector;
	int fd;
	bool is_armed;
	bool is_ready;    /* one read is due */
	bool goes_on;     /* after this reply */
	int64_t until_ns; /* of the next event */
	enum strategy_next wants;
	enum strategy_state state;
	uint64_t requests;
	http_parser parser;
	size_t at, end, out_at, out_end;
	char bytes[SERVE_BUFFER], out[HTTP_REPLY];
} strategy_client;

/* False and errno. */
bool strategy_selector_open(strategy_selector *selector, strategy_server *of, uint32_t index);
/* Lets the selector end when its clients have ended. Call strategy_selector_close after that, when
 * the pool is closed. */
void strategy_selector_stop(strategy_selector *selector);
void strategy_selector_close(strategy_selector *selector, echo_counts *counts);

/* Hands the client back. [its owner | wait-free, or a system call] */
void strategy_client_wants(strategy_client *client, enum strategy_next wants);
/* Runs the client's task as far as it can go. [its owner | blocks, if may_block] */
void strategy_client_go(strategy_client *client, bool may_block);
/* The same, by the pool: WP_OK, or as wp_pool_execute. [its owner | as wp_pool_execute] */
int strategy_client_execute(strategy_client *client);

#endif
