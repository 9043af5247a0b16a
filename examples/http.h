/* SPDX-License-Identifier: Apache-2.0
 * http.h - the HTTP/1.1 of the examples: a parser for one connection, based on llhttp, and replies.
 *
 * It does no input or output. The caller hands over bytes, and learns when they complete a message.
 * Bytes that follow the message stay with the caller for the next call (pipelining).
 *
 * Evidence      tests/examples/test_http.py, make fuzz-http. */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llhttp.h>

enum {
	HTTP_HEAD_MOST = 16384, /* bytes of target and headers of one message */
	HTTP_TARGET = 128,      /* bytes of a target that are kept, with the terminating 0 */
	HTTP_BODY = 512,        /* bytes of a response's body that are kept */
	HTTP_REPLY = HTTP_BODY + 256,
};

enum http_said {
	HTTP_MORE,    /* all bytes are taken, and the message goes on */
	HTTP_MESSAGE, /* a message is complete */
	HTTP_BAD,     /* not HTTP, or too long; `status` is the reply; then close the connection */
};

/* llhttp has its own data. The other fields describe the message that is being read, or was read
 * last. */
typedef struct http_parser {
	llhttp_t llhttp;
	int status; /* of the refusal; for a response, its own status */
	uint32_t head_bytes, target_size, body_size;
	bool is_begun, is_done, is_kept_alive, is_long; /* long: the body was not kept whole */
	char target[HTTP_TARGET], body[HTTP_BODY];
} http_parser;

typedef struct http_reply {
	int status;
	uint32_t size;
	char body[HTTP_BODY];
} http_reply;

void http_parser_init(http_parser *parser, llhttp_type_t type);

/* Takes bytes up to the end of one message. */
enum http_said http_parse(http_parser *parser, const char *bytes, size_t size, size_t *used);

/* No more bytes follow. True: that ends the message. */
bool http_parse_end(http_parser *parser);

/* Is that the path of the request's target? */
bool http_is_path(const http_parser *request, const char *path);

/* 0, or the status with which the request is refused, whatever its path is. */
int http_refusal(const http_parser *request);

/* Sets status and body. The body is cut to HTTP_BODY. */
void http_say(http_reply *reply, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes the reply and returns its size. is_kept_alive: the reply says that the connection stays
 * open. */
size_t http_write(const http_reply *reply, const http_parser *request, bool is_kept_alive,
		  char bytes[HTTP_REPLY]);

#endif
