/* SPDX-License-Identifier: Apache-2.0
 * http.c - see http.h. */
#include "http.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static http_parser *of(llhttp_t *llhttp)
{
	return (http_parser *)(void *)llhttp; /* its first member */
}

/* Counts more bytes of the target or of a header. */
static int count(http_parser *parser, size_t size)
{
	parser->head_bytes += (uint32_t)size;
	if (parser->head_bytes <= HTTP_HEAD_MOST)
		return 0;
	parser->status = HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE;
	return HPE_USER;
}

static int on_begin(llhttp_t *llhttp)
{
	http_parser *parser = of(llhttp);

	parser->status = 0;
	parser->head_bytes = parser->target_size = parser->body_size = 0;
	parser->is_begun = true;
	parser->is_done = parser->is_kept_alive = parser->is_long = false;
	return 0;
}

static int on_target(llhttp_t *llhttp, const char *bytes, size_t size)
{
	http_parser *parser = of(llhttp);
	size_t room = HTTP_TARGET - 1 - parser->target_size;

	memcpy(parser->target + parser->target_size, bytes, size < room ? size : room);
	parser->target_size += (uint32_t)(size < room ? size : room);
	return count(parser, size);
}

static int on_header(llhttp_t *llhttp, const char *bytes, size_t size)
{
	(void)bytes;
	return count(of(llhttp), size);
}

/* An upgrade is never accepted, so the bytes that follow are the next message. */
static int on_head(llhttp_t *llhttp)
{
	llhttp->upgrade = 0;
	return 0;
}

static int on_body(llhttp_t *llhttp, const char *bytes, size_t size)
{
	http_parser *parser = of(llhttp);
	size_t room = HTTP_BODY - parser->body_size;

	parser->is_long |= size > room;
	memcpy(parser->body + parser->body_size, bytes, size < room ? size : room);
	parser->body_size += (uint32_t)(size < room ? size : room);
	return 0;
}

static int on_end(llhttp_t *llhttp)
{
	http_parser *parser = of(llhttp);

	parser->target[parser->target_size] = '\0';
	parser->status = llhttp->status_code;
	parser->is_kept_alive = llhttp_should_keep_alive(llhttp);
	parser->is_begun = false;
	parser->is_done = true;
	return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
	.on_message_begin = on_begin,
	.on_url = on_target,
	.on_header_field = on_header,
	.on_header_value = on_header,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_end,
};

void http_parser_init(http_parser *parser, llhttp_type_t type)
{
	llhttp_init(&parser->llhttp, type, &settings);
	on_begin(&parser->llhttp);
	parser->is_begun = false;
}

enum http_said http_parse(http_parser *parser, const char *bytes, size_t size, size_t *used)
{
	llhttp_errno_t said;

	if (parser->is_done) {
		parser->is_done = false;
		llhttp_resume(&parser->llhttp);
	}
	said = llhttp_execute(&parser->llhttp, bytes, size);
	*used = size;
	if (said == HPE_OK)
		return HTTP_MORE;
	if (said == HPE_PAUSED && parser->is_done) {
		*used = (size_t)(llhttp_get_error_pos(&parser->llhttp) - bytes);
		return HTTP_MESSAGE;
	}
	if (parser->status < HTTP_STATUS_BAD_REQUEST)
		parser->status = HTTP_STATUS_BAD_REQUEST;
	return HTTP_BAD;
}

bool http_parse_end(http_parser *parser)
{
	return parser->is_begun && llhttp_finish(&parser->llhttp) != HPE_INVALID_EOF_STATE &&
	       parser->is_done;
}

bool http_is_path(const http_parser *request, const char *path)
{
	size_t size = strcspn(request->target, "?#");

	return size == strlen(path) && memcmp(request->target, path, size) == 0;
}

int http_refusal(const http_parser *request)
{
	switch (request->llhttp.method) {
	case HTTP_GET:
	case HTTP_HEAD:
	case HTTP_POST:
		return 0;
	default:
		return HTTP_STATUS_METHOD_NOT_ALLOWED;
	}
}

void http_say(http_reply *reply, int status, const char *format, ...)
{
	va_list values;
	int size;

	va_start(values, format);
	size = vsnprintf(reply->body, sizeof(reply->body), format, values);
	va_end(values);
	reply->status = status;
	reply->size = size < HTTP_BODY ? (uint32_t)size : HTTP_BODY - 1;
}

size_t http_write(const http_reply *reply, const http_parser *request, bool is_kept_alive,
		  char bytes[HTTP_REPLY])
{
	const char *connection = "";
	int head;

	if (!is_kept_alive)
		connection = "Connection: close\r\n";
	else if (request->llhttp.http_minor == 0)
		connection = "Connection: keep-alive\r\n";
	head = snprintf(
		bytes, HTTP_REPLY,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %u\r\n%s%s\r\n",
		reply->status, llhttp_status_name((llhttp_status_t)reply->status), reply->size,
		connection,
		reply->status == HTTP_STATUS_METHOD_NOT_ALLOWED ? "Allow: GET, HEAD, POST\r\n"
								: "");
	if (request->llhttp.method == HTTP_HEAD)
		return (size_t)head;
	memcpy(bytes + head, reply->body, reply->size);
	return (size_t)head + reply->size;
}
