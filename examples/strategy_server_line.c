/* SPDX-License-Identifier: Apache-2.0
 * strategy_server_line.c - calls to the backend that block their OS thread; see strategy_server.h.
 * As in upstream.h, the backend may have closed a kept connection, and the caller then takes
 * another one. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "strategy_server.h"

enum { BUFFER = 1024, MS_PER_S = 1000 };

static const char request[] = "GET /x HTTP/1.1\r\nHost: backend\r\n\r\n";

/* One connection: idle, or in use by one caller. */
typedef struct strategy_line {
	struct strategy_line *next;
	int fd;
	bool is_used; /* it has had a reply before */
	http_parser parser;
} strategy_line;

void strategy_lines_init(strategy_lines *lines, const struct sockaddr_in *address)
{
	lines->address = *address;
	pthread_mutex_init(&lines->lock, NULL);
	lines->idle = NULL;
}

static void drop(strategy_line *line)
{
	close(line->fd);
	free(line);
}

void strategy_lines_fini(strategy_lines *lines)
{
	for (strategy_line *line = lines->idle, *next; line != NULL; line = next) {
		next = line->next;
		drop(line);
	}
}

static void keep(strategy_lines *lines, strategy_line *line)
{
	line->is_used = true;
	pthread_mutex_lock(&lines->lock);
	line->next = lines->idle;
	lines->idle = line;
	pthread_mutex_unlock(&lines->lock);
}

/* NULL and errno. */
static strategy_line *open_line(const strategy_lines *lines)
{
	const struct sockaddr *address = (const struct sockaddr *)&lines->address;
	struct timeval patience = {.tv_sec = UPSTREAM_PATIENCE_MS / MS_PER_S};
	strategy_line *line = calloc(1, sizeof(*line));
	int failed;

	if (line == NULL)
		return NULL;
	http_parser_init(&line->parser, HTTP_RESPONSE);
	line->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (line->fd >= 0) {
		setsockopt(line->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		setsockopt(line->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(line->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
		if (connect(line->fd, address, sizeof(lines->address)) == 0)
			return line;
	}
	failed = errno;
	if (line->fd >= 0)
		close(line->fd);
	free(line);
	errno = failed;
	return NULL;
}

static strategy_line *take(strategy_lines *lines)
{
	strategy_line *line;

	pthread_mutex_lock(&lines->lock);
	line = lines->idle;
	if (line != NULL)
		lines->idle = line->next;
	pthread_mutex_unlock(&lines->lock);
	return line != NULL ? line : open_line(lines);
}

static bool is_stale(const strategy_line *line)
{
	return line->is_used && !line->parser.is_begun;
}

/* Sends the request. Returns its line, or NULL and errno. */
static strategy_line *ask(strategy_lines *lines)
{
	strategy_line *line;

	while ((line = take(lines)) != NULL &&
	       send(line->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) {
		bool is_again = is_stale(line);
		int failed = errno;

		drop(line);
		errno = failed;
		if (!is_again)
			return NULL;
	}
	return line;
}

/* HTTP_MESSAGE: *is_kept says whether another one may follow. HTTP_BAD. HTTP_MORE: the connection
 * broke; errno. */
static enum http_said hear(strategy_line *line, bool *is_kept)
{
	char bytes[BUFFER];
	ssize_t size;
	size_t used = 0;

	*is_kept = false;
	while ((size = recv(line->fd, bytes, sizeof(bytes), 0)) > 0) {
		enum http_said said = http_parse(&line->parser, bytes, (size_t)size, &used);

		*is_kept =
			said == HTTP_MESSAGE && line->parser.is_kept_alive && used == (size_t)size;
		if (said != HTTP_MORE)
			return said;
	}
	if (size == 0) {
		errno = ECONNRESET;
		return http_parse_end(&line->parser) ? HTTP_MESSAGE : HTTP_MORE;
	}
	errno = errno == EAGAIN ? ETIMEDOUT : errno;
	return HTTP_MORE;
}

static void fail(http_reply *reply, const char *why)
{
	http_say(reply, HTTP_STATUS_BAD_GATEWAY, "the backend: %s\n", why);
}

/* line: the connection that was used, or NULL and errno. */
static void finish(strategy_lines *lines, strategy_line *line, http_reply *reply)
{
	enum http_said said = HTTP_MORE;
	bool is_kept = false;

	while (line != NULL && (said = hear(line, &is_kept)) == HTTP_MORE && is_stale(line)) {
		drop(line);
		line = ask(lines);
	}
	if (said == HTTP_MESSAGE) {
		reply->status = line->parser.status;
		reply->size = line->parser.body_size;
		memcpy(reply->body, line->parser.body, reply->size);
	} else {
		fail(reply, said == HTTP_BAD ? "its reply is not HTTP" : strerror(errno));
	}
	if (is_kept)
		keep(lines, line);
	else if (line != NULL)
		drop(line);
}

void strategy_call(strategy_lines *lines, http_reply *replies, uint32_t many)
{
	strategy_line *asked[2];
	int failed[2];

	for (uint32_t at = 0; at < many; at++) {
		asked[at] = ask(lines);
		failed[at] = errno;
	}
	for (uint32_t at = 0; at < many; at++) {
		errno = failed[at];
		finish(lines, asked[at], &replies[at]);
	}
}
