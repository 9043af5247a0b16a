/* SPDX-License-Identifier: Apache-2.0
 * pool_queue.h - the queue of a pool: a ring that is doubled when it is full, and stays so long. For
 * pool.c alone; all under the lock of the pool. */
#ifndef WP_POOL_QUEUE_H
#define WP_POOL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct wp_pool;
struct wp_job;

/* `jobs`, from malloc if it is ever to grow, has room for `room`, a power of two. [before it is shared] */
void wp__pool_init(struct wp_pool *pool, struct wp_job *jobs, uint64_t room);
bool wp__pool_push(struct wp_pool *pool, const struct wp_job *job); /* false: no memory */
bool wp__pool_pop(struct wp_pool *pool, struct wp_job *job);	    /* false: it is empty */

#endif
