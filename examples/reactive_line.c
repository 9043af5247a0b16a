/* SPDX-License-Identifier: Apache-2.0
 * reactive_line.c - a connection to the backend, as a state machine; see reactive.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reactive.h"

enum { BUFFER = 1024 };

/* The progress of a line. */
enum progress { WAITS, OVER, AGAIN };

static const char request[] = "GET /x HTTP/1.1\r\nHost: backend\r\n\r\n";

static void leave_idle(line *one)
{
	*one->back = one->next;
	if (one->next != NULL)
		one->next->back = one->back;
}

static void become_idle(line *one)
{
	reactor *of = one->reactor;

	one->state = LINE_IDLE;
	one->is_used = true;
	one->next = of->idle;
	one->back = &of->idle;
	if (one->next != NULL)
		one->next->back = &one->next;
	of->idle = one;
}

void line_drop(line *one)
{
	if (one->state == LINE_IDLE)
		leave_idle(one);
	reactor_bury(one->reactor, &one->source);
}

/* NULL and errno. */
static line *open_line(reactor *of)
{
	const struct sockaddr *address = (const struct sockaddr *)&of->config->address;
	line *one = calloc(1, sizeof(*one));
	int failed;

	if (one == NULL)
		return NULL;
	one->source.kind = SOURCE_LINE;
	one->source.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	one->reactor = of;
	one->state = LINE_CONNECTING;
	http_parser_init(&one->parser, HTTP_RESPONSE);
	if (one->source.fd >= 0) {
		setsockopt(one->source.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
		if ((connect(one->source.fd, address, sizeof(of->config->address)) == 0 ||
		     errno == EINPROGRESS) &&
		    reactor_watch(of, &one->source))
			return one;
	}
	failed = errno;
	if (one->source.fd >= 0)
		close(one->source.fd);
	free(one);
	errno = failed;
	return NULL;
}

static void fail(http_reply *reply, const char *why)
{
	http_say(reply, HTTP_STATUS_BAD_GATEWAY, "the backend: %s\n", why);
}

static enum progress finish(line *one, bool is_kept)
{
	one->client->pending--;
	if (is_kept)
		become_idle(one);
	else
		line_drop(one);
	return OVER;
}

/* Handles a failure by errno. A connection that was kept may simply have been closed. */
static enum progress broke(line *one)
{
	if (one->is_used && !one->parser.is_begun) {
		line_drop(one);
		return AGAIN;
	}
	fail(one->reply, strerror(errno));
	return finish(one, false);
}

static enum progress receive(line *one)
{
	http_parser *parser = &one->parser;
	char bytes[BUFFER];
	size_t used = 0;
	ssize_t size = source_read(&one->source, bytes, sizeof(bytes));
	enum http_said said = HTTP_MORE;

	if (size < 0)
		return errno == EAGAIN ? WAITS : broke(one);
	if (size > 0)
		said = http_parse(parser, bytes, (size_t)size, &used);
	else if (http_parse_end(parser))
		said = HTTP_MESSAGE;
	else {
		errno = ECONNRESET;
		return broke(one);
	}
	switch (said) {
	case HTTP_MORE:
		return receive(one);
	case HTTP_BAD:
		fail(one->reply, "its reply is not HTTP");
		return finish(one, false);
	default:
		one->reply->status = parser->status;
		one->reply->size = parser->body_size;
		memcpy(one->reply->body, parser->body, parser->body_size);
		return finish(one, size != 0 && parser->is_kept_alive && used == (size_t)size);
	}
}

static enum progress send_request(line *one)
{
	while (one->sent < sizeof(request) - 1) {
		ssize_t size = source_write(&one->source, request + one->sent,
					    sizeof(request) - 1 - one->sent);

		if (size < 0)
			return errno == EAGAIN ? WAITS : broke(one);
		one->sent += (size_t)size;
	}
	one->state = LINE_RECEIVING;
	return receive(one);
}

static enum progress go(line *one)
{
	socklen_t length = sizeof(int);
	int failure = 0;

	switch (one->state) {
	case LINE_CONNECTING:
		if (!one->source.is_writable)
			return WAITS;
		getsockopt(one->source.fd, SOL_SOCKET, SO_ERROR, &failure, &length);
		errno = failure;
		if (failure != 0)
			return broke(one);
		one->state = LINE_SENDING;
		return send_request(one);
	case LINE_SENDING:
		return send_request(one);
	case LINE_RECEIVING:
		return receive(one);
	case LINE_IDLE: /* the backend has closed it, or sends without a request */
		if (one->source.is_readable)
			line_drop(one);
	}
	return WAITS;
}

void line_begin(reactor *of, client *caller, http_reply *reply)
{
	enum progress progress;

	do {
		line *one = of->idle;

		if (one == NULL) {
			one = open_line(of);
		} else {
			leave_idle(one);
			one->state = LINE_SENDING;
		}
		if (one == NULL) {
			fail(reply, strerror(errno));
			caller->pending--;
			return;
		}
		one->client = caller;
		one->reply = reply;
		one->sent = 0;
		progress = go(one);
	} while (progress == AGAIN);
}

bool line_go(line *one)
{
	enum progress progress = go(one);

	if (progress == AGAIN) {
		line_begin(one->reactor, one->client, one->reply);
		return one->client->pending == 0;
	}
	return progress == OVER;
}
