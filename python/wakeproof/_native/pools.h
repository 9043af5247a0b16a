/* SPDX-License-Identifier: Apache-2.0
 * pools.h - what Python needs beside the kernel's strategies, and pools: strategies on the heap.
 *
 * Evidence      tests/pool/test_strategy_python.py. */
#ifndef WP_POOLS_H
#define WP_POOLS_H

#include "pool/nonblocking_tag.h"
#include "pool/pool.h"
#include "pool/strategy.h"

/* cdef: begin */
typedef struct wp_strategy wp_strategy;
typedef struct wp_strategy_config wp_strategy_config;

/* NULL and errno if there is no memory; *config is copied. Free: nobody may use it. [any thread] */
wp_strategy *wp__strategy_new(const wp_strategy_config *config);
void wp__strategy_free(wp_strategy *strategy);
/* cdef: end */

#endif
