/* SPDX-License-Identifier: Apache-2.0
 * echo.h - the parts of echo_server: its settings, its replies, and its modes. */
#ifndef ECHO_H
#define ECHO_H

#include "serve.h"
#include "pool/strategy.h"
#include "upstream.h"

enum echo_mode { ECHO_UNIFIED, ECHO_SPLIT, ECHO_REACTIVE, ECHO_STRATEGY };
enum echo_pin { ECHO_FLOATING, ECHO_EACH, ECHO_SPARE };

typedef struct echo_config {
	uint32_t port, mode, carriers, stealing, pin;
	uint32_t strategy, kind, threads; /* of the strategy mode */
	const char *backend;
	struct sockaddr_in address; /* of the backend */
	bool has_stats, traces_depth;
	uint32_t cpus[WP_GROUP_CARRIERS]; /* the allowed CPUs, in order */
	uint32_t cpu_count;
} echo_config;

/* Printed when the process ends. */
typedef struct echo_counts {
	server_counts served;
	wp_poll_counts polled;
	uint64_t parks;                                /* of carriers */
	uint64_t threads, consumed[WP_CONSUMED_KINDS]; /* of the strategy mode */
} echo_counts;

/* The place where handlers run: `arg` of echo_answer. */
typedef struct echo_handlers {
	wp_group *group;
	upstream backend;
} echo_handlers;

/* "/": the backend's reply. "/parallel": two calls at once, by two forks of a scope. Otherwise 404.
 * [a virtual thread of the group | parks] */
void echo_answer(void *handlers, const http_parser *request, uint32_t number, http_reply *reply);

/* Each serves until a signal comes, and ends. False: it could not begin; errno. */
bool echo_run(const echo_config *config, int fd, echo_counts *counts); /* unified, split */
bool echo_react(const echo_config *config, int fd, echo_counts *counts);
bool echo_strategy(const echo_config *config, int fd, echo_counts *counts);

/* Accepts connections, none of which blocks, and hands them over until a signal comes. Closes the
 * listener. [blocks] */
void echo_accept(int listener, void (*take)(void *arg, int fd, uint32_t number), void *arg);

/* Called on each of its threads, with `config` and its number: binds it as --pin says. */
void echo_bind(void *config, uint32_t index);

/* Called once, when the server listens. */
void echo_is_ready(const echo_config *config);

#endif
