/* SPDX-License-Identifier: Apache-2.0
 * reactive_client.c - a client, as a state machine; see reactive.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>

#include "base/futex.h"
#include "reactive.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

void client_drop(client *one)
{
	reactor *of = one->reactor;

	pthread_mutex_lock(&of->lock);
	*one->back = one->next;
	if (one->next != NULL)
		one->next->back = one->back;
	pthread_mutex_unlock(&of->lock);
	of->lingering -= one->state == CLIENT_LINGERING;
	of->served.accepted++;
	reactor_bury(of, &one->source);
}

static void reply_with(client *one, const http_reply *reply, bool goes_on)
{
	one->goes_on = goes_on && !one->reactor->is_told;
	one->out_at = 0;
	one->out_end = http_write(reply, &one->parser, one->goes_on, one->out);
	one->state = CLIENT_WRITING;
}

static void say(client *one, int status, const char *text, bool goes_on)
{
	http_reply reply;

	http_say(&reply, status, "%s\n", text);
	reply_with(one, &reply, goes_on);
}

static void begin(client *one)
{
	bool goes_on = one->parser.is_kept_alive;

	one->reactor->served.requests++;
	if (http_refusal(&one->parser) != 0) {
		say(one, http_refusal(&one->parser), "GET, HEAD and POST only", goes_on);
		return;
	}
	one->calls = http_is_path(&one->parser, "/") ? 1 : 2;
	if (one->calls == 2 && !http_is_path(&one->parser, "/parallel")) {
		say(one, HTTP_STATUS_NOT_FOUND, "there are / and /parallel", goes_on);
		return;
	}
	one->state = CLIENT_CALLING;
	one->pending = one->calls;
	for (uint32_t at = 0; at < one->calls; at++)
		line_begin(one->reactor, one, &one->halves[at]);
}

static void finish(client *one)
{
	http_reply *halves = one->halves, both;
	unsigned int index = one->reactor->index;

	if (one->calls == 1) {
		reply_with(one, halves, one->parser.is_kept_alive);
		return;
	}
	http_say(&both, halves[halves[0].status < halves[1].status].status,
		 "handler on thread %u\ncall on thread %u: %.*scall on thread %u: %.*s", index,
		 index, (int)halves[0].size, halves[0].body, index, (int)halves[1].size,
		 halves[1].body);
	reply_with(one, &both, one->parser.is_kept_alive);
}

/* True: there is more to do. */
static bool read_some(client *one)
{
	size_t used = 0;

	if (one->at == one->end) {
		ssize_t size = source_read(&one->source, one->bytes, sizeof(one->bytes));

		if (size <= 0) {
			if (size == 0 || errno != EAGAIN)
				client_drop(one);
			return false;
		}
		one->at = 0;
		one->end = (size_t)size;
	}
	switch (http_parse(&one->parser, one->bytes + one->at, one->end - one->at, &used)) {
	case HTTP_MESSAGE:
		one->at += used;
		begin(one);
		break;
	case HTTP_BAD:
		say(one, one->parser.status,
		    llhttp_status_name((llhttp_status_t)one->parser.status), false);
		break;
	case HTTP_MORE:
		one->at = one->end;
	}
	return true;
}

static bool write_some(client *one)
{
	ssize_t size =
		source_write(&one->source, one->out + one->out_at, one->out_end - one->out_at);

	if (size < 0) {
		if (errno != EAGAIN)
			client_drop(one);
		return false;
	}
	one->out_at += (size_t)size;
	if (one->out_at < one->out_end)
		return true;
	one->state = one->goes_on ? CLIENT_READING : CLIENT_LINGERING;
	if (!one->goes_on) {
		shutdown(one->source.fd, SHUT_WR);
		one->reactor->lingering++;
		one->until_ns = wp_deadline_in((int64_t)SERVE_LINGER_MS * NS_PER_MS);
	}
	return true;
}

static bool discard(client *one)
{
	ssize_t size = source_read(&one->source, one->bytes, sizeof(one->bytes));

	if (size == 0 || (size < 0 && errno != EAGAIN))
		client_drop(one);
	return size > 0;
}

static bool step(client *one)
{
	switch (one->state) {
	case CLIENT_READING:
		return read_some(one);
	case CLIENT_CALLING:
		if (one->pending != 0)
			return false;
		finish(one);
		return true;
	case CLIENT_WRITING:
		return write_some(one);
	case CLIENT_LINGERING:
		return discard(one);
	}
	return false;
}

void client_go(client *one)
{
	while (step(one))
		;
}
