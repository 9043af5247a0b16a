/* SPDX-License-Identifier: Apache-2.0
 * echo_handlers.c - see echo.h. */
#include <string.h>

#include "echo.h"
#include "scope/scope.h"

/* One fork of /parallel. */
typedef struct half {
	echo_handlers *handlers;
	wp_subtask subtask;
	int carrier;
	http_reply reply;
} half;

static int call_half(void *arg)
{
	half *one = arg;

	one->carrier = wp_group_running(one->handlers->group);
	upstream_call(&one->handlers->backend, &one->reply);
	return 0;
}

/* Both halves are forked here, so they stay on this carrier unless work stealing is on. */
static void answer_parallel(echo_handlers *handlers, http_reply *reply)
{
	half halves[2] = {{.handlers = handlers}, {.handlers = handlers}};
	wp_scope_config config = {.name = "parallel",
				  .policy = WP_SCOPE_ALL,
				  .deadline_ns = WP_FOREVER,
				  .forks = {.carrier = WP_VTHREAD_HERE}};
	int carrier = wp_group_running(handlers->group), code;
	wp_scope scope;

	code = wp_scope_open(&scope, handlers->group, &config);
	if (code == WP_OK) {
		for (int at = 0; at < 2 && code == WP_OK; at++)
			code = wp_scope_fork(&scope, &halves[at].subtask, call_half, &halves[at]);
		if (code == WP_OK)
			code = wp_scope_join(&scope, NULL);
		wp_scope_close(&scope);
	}
	if (code != WP_OK) {
		http_say(reply, HTTP_STATUS_SERVICE_UNAVAILABLE, "%s\n", wp_error_text(code));
		return;
	}
	http_say(reply,
		 halves[0].reply.status > halves[1].reply.status ? halves[0].reply.status
								 : halves[1].reply.status,
		 "handler on carrier %d\nfork on carrier %d: %.*sfork on carrier %d: %.*s", carrier,
		 halves[0].carrier, (int)halves[0].reply.size, halves[0].reply.body,
		 halves[1].carrier, (int)halves[1].reply.size, halves[1].reply.body);
}

void echo_answer(void *arg, const http_parser *request, uint32_t number, http_reply *reply)
{
	echo_handlers *handlers = arg;

	(void)number;
	if (http_is_path(request, "/"))
		upstream_call(&handlers->backend, reply);
	else if (http_is_path(request, "/parallel"))
		answer_parallel(handlers, reply);
	else
		http_say(reply, HTTP_STATUS_NOT_FOUND, "there are / and /parallel\n");
}
