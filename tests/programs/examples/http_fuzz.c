/* SPDX-License-Identifier: Apache-2.0
 * http_fuzz.c - sends arbitrary bytes to a connection of the HTTP examples. There is no crash and
 * no leak, and these hold: the replies do not depend on how the bytes are cut; each request has one
 * reply, in order, and bytes that are no request have one more; nothing follows a reply that is
 * marked as the last.
 *
 * The first byte of an input determines how the rest is cut the second time. With libFuzzer: `make
 * fuzz-http`. Alone: http_fuzz SECONDS SEED FILE.., which changes the files at random.
 *
 * wp_io_* are wrapped (-Wl,--wrap): they read the input and keep the output. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "base/error.h"
#include "base/futex.h"

enum { REPLIES = 4096, OUT = REPLIES * 256 };

static struct {
	const uint8_t *in;
	size_t left, piece, out_size;
	char out[OUT];
	uint32_t replies;
	bool is_head[REPLIES];
} wire;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int __wrap_wp_io_new(wp_group *group, int fd, wp_io **io);
void __wrap_wp_io_free(wp_io *io);
int __wrap_wp_io_read(wp_io *io, void *bytes, size_t size, int64_t deadline_ns, size_t *done);
int __wrap_wp_io_write(wp_io *io, const void *bytes, size_t size, int64_t until_ns, size_t *done);
size_t __real_http_write(const http_reply *reply, const http_parser *request, bool is_kept_alive,
			 char bytes[HTTP_REPLY]);
size_t __wrap_http_write(const http_reply *reply, const http_parser *request, bool is_kept_alive,
			 char bytes[HTTP_REPLY]);

static void hold(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "lost %s\n", what);
	abort();
}

int __wrap_wp_io_new(wp_group *group, int fd, wp_io **io)
{
	static wp_io none = {.fd = -1};

	*io = &none;
	return WP_OK;
}

void __wrap_wp_io_free(wp_io *io)
{
}

int __wrap_wp_io_read(wp_io *io, void *bytes, size_t size, int64_t deadline_ns, size_t *done)
{
	*done = size < wire.left ? size : wire.left;
	if (*done > wire.piece)
		*done = wire.piece;
	memcpy(bytes, wire.in, *done);
	wire.in += *done;
	wire.left -= *done;
	return WP_OK;
}

int __wrap_wp_io_write(wp_io *io, const void *bytes, size_t size, int64_t until_ns, size_t *done)
{
	hold(wire.out_size + size <= OUT, "room");
	memcpy(wire.out + wire.out_size, bytes, size);
	wire.out_size += size;
	*done = size;
	return WP_OK;
}

size_t __wrap_http_write(const http_reply *reply, const http_parser *request, bool is_kept_alive,
			 char bytes[HTTP_REPLY])
{
	hold(wire.replies < REPLIES, "room for a reply");
	wire.is_head[wire.replies++] = request->llhttp.method == HTTP_HEAD;
	return __real_http_write(reply, request, is_kept_alive, bytes);
}

/* Replies as the examples do. */
static void answer(void *arg, const http_parser *request, uint32_t number, http_reply *reply)
{
	if (http_is_path(request, "/"))
		http_say(reply, HTTP_STATUS_OK, "hello\n");
	else if (http_is_path(request, "/parallel"))
		http_say(reply, HTTP_STATUS_OK, "%.*s", HTTP_BODY * 2, request->target);
	else
		http_say(reply, HTTP_STATUS_NOT_FOUND, "none\n");
}

/* Returns the number of requests that it has counted. */
static uint64_t serve(const uint8_t *bytes, size_t size, size_t piece)
{
	static http_server server = {.config = {.answer = answer}};
	connection *client = malloc(sizeof(*client));

	hold(client != NULL, "memory");
	memset(client, 0xa5, sizeof(*client)); /* members that are not set must not be read */
	client->server = &server;
	client->requests = client->depth_most = client->at = client->end = 0;
	client->number = 0;
	wire.in = bytes;
	wire.left = size;
	wire.piece = piece;
	wire.out_size = 0;
	wire.replies = 0;
	server.open = 1;
	server.counts.requests = 0;
	connection_run(client);
	return server.counts.requests;
}

/* Each reply is whole, and only the last one is marked as the last. */
static void check_replies(uint64_t requests)
{
	const char *at = wire.out, *end = wire.out + wire.out_size;

	hold(wire.replies == requests || wire.replies == requests + 1, "a reply to each");
	for (uint32_t reply = 0; reply < wire.replies; reply++) {
		const char *body = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
		const char *length, *last;

		hold(body != NULL && memcmp(at, "HTTP/1.1 ", 9) == 0, "a reply's head");
		body += 4;
		length = memmem(at, (size_t)(body - at), "Content-Length: ", 16);
		last = memmem(at, (size_t)(body - at), "Connection: close", 17);
		hold(length != NULL, "its length");
		hold(last == NULL || reply + 1 == wire.replies, "that one is the last");
		at = wire.is_head[reply] ? body : body + atoi(length + 16);
		hold(at <= end, "a reply's body");
	}
	hold(at == end, "what follows the last");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char first[OUT];
	size_t first_size, piece = size == 0 || bytes[0] == 0 ? 1 : bytes[0];
	uint64_t requests;

	if (size < 2)
		return 0;
	requests = serve(bytes + 1, size - 1, size);
	check_replies(requests);
	first_size = wire.out_size;
	memcpy(first, wire.out, first_size);
	hold(serve(bytes + 1, size - 1, piece) == requests, "a request, cut otherwise");
	hold(wire.out_size == first_size && memcmp(first, wire.out, first_size) == 0,
	     "the same replies, cut otherwise");
	return 0;
}

#ifndef LIBFUZZER
enum { SEEDS = 32, LONGEST = 16384, NS_PER_S = 1000000000 };

static struct {
	uint8_t bytes[LONGEST];
	size_t size;
} seeds[SEEDS], input;

static const char *const words[] = {"\r\n",
				    "\n",
				    "\r",
				    "\r\n\r\n",
				    " ",
				    ":",
				    "0",
				    "GET ",
				    "HEAD ",
				    "POST / HTTP/1.1\r\n",
				    "Content-Length: 3\r\n",
				    "Content-Length: 99999999999999999999\r\n",
				    "HTTP/1.0",
				    "ffffffff",
				    "Transfer-Encoding: chunked\r\n",
				    "Connection: close\r\n",
				    "Upgrade: x\r\n",
				    ";",
				    "\t",
				    "%00"};

static uint64_t state;

static size_t below(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return limit == 0 ? 0 : (size_t)(state % limit);
}

static void insert(size_t at, const void *bytes, size_t size)
{
	if (input.size + size > LONGEST)
		return;
	memmove(input.bytes + at + size, input.bytes + at, input.size - at);
	memcpy(input.bytes + at, bytes, size);
	input.size += size;
}

static void change(size_t count)
{
	size_t at = below(input.size), size = below(input.size - at) % 64, seed = below(count);
	const char *word = words[below(sizeof(words) / sizeof(*words))];
	uint8_t copy[64];

	switch (below(5)) {
	case 0:
		input.bytes[at] ^= (uint8_t)(1u << below(8));
		break;
	case 1:
		insert(at, word, strlen(word));
		break;
	case 2:
		memmove(input.bytes + at, input.bytes + at + size, input.size - at - size);
		input.size -= size;
		break;
	case 3:
		memcpy(copy, input.bytes + at, size);
		insert(below(input.size), copy, size);
		break;
	default:
		insert(at, seeds[seed].bytes + 1, seeds[seed].size / 2);
	}
}

int main(int argc, char **argv)
{
	int64_t until_ns = wp_clock_ns() + (argc > 1 ? atoi(argv[1]) : 1) * (int64_t)NS_PER_S;
	size_t count = 0;
	uint64_t inputs = 0;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) * 2 + 1 : 1;
	for (int at = 3; at < argc && count < SEEDS; at++, count++) {
		FILE *file = fopen(argv[at], "rb");

		hold(file != NULL, argv[at]);
		seeds[count].size = fread(seeds[count].bytes, 1, LONGEST, file);
		fclose(file);
		LLVMFuzzerTestOneInput(seeds[count].bytes, seeds[count].size);
	}
	hold(count != 0, "files to begin with");
	for (; wp_clock_ns() < until_ns; inputs++) {
		input = seeds[below(count)];
		for (size_t changes = 1 + below(8); changes != 0 && input.size > 1; changes--)
			change(count);
		LLVMFuzzerTestOneInput(input.bytes, input.size);
	}
	printf("%llu inputs\n", (unsigned long long)inputs);
	return 0;
}
#endif
