/* SPDX-License-Identifier: Apache-2.0
 * nonblocking_tag.c - see nonblocking_tag.h. Not explored, because its results depend on the thread
 * that calls. */
#include "pool/nonblocking_tag.h"

#include "sched/vthread_start.h"

static _Thread_local bool is_tagged;

bool wp_is_non_blocking(void)
{
	return is_tagged && wp_vthread_current() == NULL;
}

void wp_invoke_non_blocking(void (*run)(void *arg), void *arg)
{
	bool before = is_tagged;

	if (wp_vthread_current() != NULL) {
		run(arg);
		return;
	}
	is_tagged = true;
	run(arg);
	is_tagged = before;
}
