/* SPDX-License-Identifier: Apache-2.0
 * echo_reactive.c - to come. */
#include "echo.h"

bool echo_react(const echo_config *config, int fd, echo_counts *counts)
{
	(void)config;
	(void)fd;
	(void)counts;
	return false;
}
