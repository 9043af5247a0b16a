/* SPDX-License-Identifier: Apache-2.0
 * response.h - finds the end of a reply: as much of HTTP/1.1 as the load generator needs. */
#ifndef BENCH_HTTP_RESPONSE_H
#define BENCH_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

enum { RESPONSE_PARTIAL = 0, RESPONSE_BAD = -1 };

/* Returns the length of the reply at `text`. PARTIAL: more bytes are needed. BAD: the status is not
 * 200, or the reply does not give its length. */
static inline ssize_t response_length(const char *text, size_t size)
{
	static const char ok[] = "HTTP/1.1 200", length[] = "content-length:";
	const size_t seen = size < sizeof ok - 1 ? size : sizeof ok - 1;
	if (memcmp(text, ok, seen) != 0)
		return RESPONSE_BAD;
	const char *head_end = memmem(text, size, "\r\n\r\n", 4);
	if (head_end == NULL)
		return RESPONSE_PARTIAL;
	for (const char *at = text; at < head_end; at++) {
		at = memchr(at, '\n', (size_t)(head_end - at));
		if (at == NULL)
			break;
		if (strncasecmp(at + 1, length, sizeof length - 1) == 0) {
			const ssize_t head = head_end + 4 - text, body = atol(at + sizeof length);
			return head + body <= (ssize_t)size ? head + body : RESPONSE_PARTIAL;
		}
	}
	return RESPONSE_BAD;
}

#endif
