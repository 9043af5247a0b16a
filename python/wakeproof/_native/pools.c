/* SPDX-License-Identifier: Apache-2.0
 * pools.c - see pools.h. */
#include "pools.h"

#include <stdlib.h>

wp_strategy *wp__strategy_new(const wp_strategy_config *config)
{
	wp_strategy *strategy = aligned_alloc(_Alignof(wp_strategy), sizeof *strategy);

	if (strategy != NULL)
		wp_strategy_init(strategy, config);
	return strategy;
}

void wp__strategy_free(wp_strategy *strategy)
{
	free(strategy);
}
