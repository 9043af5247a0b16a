/* SPDX-License-Identifier: Apache-2.0
 * membarrier.c - the system's half of the asymmetric fence: membarrier, private and expedited. */
#define _GNU_SOURCE
#include "base/order.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool wp_fence_heavy_register(void)
{
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool(wp_fence_heavy)(void) /* in parentheses, because callers see a macro of this name */
{
	/* An exec clears the registration. So if the call fails, register and try once more before
	 * giving up. */
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
	       (wp_fence_heavy_register() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}
