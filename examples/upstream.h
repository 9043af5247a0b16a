/* SPDX-License-Identifier: Apache-2.0
 * upstream.h - calls to a backend over connections that are kept. The threads of one carrier reuse
 * the connections of that carrier, so its own poller watches them.
 *
 * The backend may have closed a kept connection. A caller that finds this drops the connection and
 * takes another one. A failure on a new connection is the backend's failure: 502. */
#ifndef UPSTREAM_H
#define UPSTREAM_H

#include <netinet/in.h>

#include "http.h"
#include "io/descriptor.h"
#include "sched/vthread_start.h"

enum { UPSTREAM_PATIENCE_MS = 60000 };

struct upstream_line;

/* Under the lock. */
typedef struct upstream_pool {
	_Alignas(WP_LINE) wp_lock lock;
	struct upstream_line *idle; /* the one that was used last comes first */
} upstream_pool;

typedef struct upstream {
	wp_group *group;
	struct sockaddr_in address;
	upstream_pool *pools; /* by home */
} upstream;

/* WP_OK, or WP_SYSTEM. */
int upstream_init(upstream *to, wp_group *group, const struct sockaddr_in *address);
/* [while no call runs | system calls] */
void upstream_fini(upstream *to);

/* The reply is the backend's, or 502 and the reason. [a virtual thread of the group | parks] */
void upstream_call(upstream *to, http_reply *reply);

#endif
