/* SPDX-License-Identifier: Apache-2.0
 * no_threads.c - groups in which the n-th thread is refused, while signals interrupt every wait;
 * link with -Wl,--wrap=pthread_create. Prints the results of the system and of the group. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "base/error.h"
#include "sched/group.h"

enum { CARRIERS = 5, BIND_NS = 5000000, TICK_US = 500 };

static int refused, asked;
static wp_atomic(uint32_t) begun, bound;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*body)(void *), void *arg)
{
	if (asked++ == refused)
		return EAGAIN;
	return __real_pthread_create(thread, attributes, body, arg);
}

/* Long enough for the failed start to be interrupted while it waits. */
static void hold(void *arg, uint32_t index)
{
	wp_fetch_add_relaxed(&begun, 1);
	nanosleep(&(struct timespec){0, BIND_NS}, NULL);
	nanosleep(&(struct timespec){0, BIND_NS}, NULL);
	wp_fetch_add_relaxed(&bound, 1);
}

static void ignore(int unused)
{
}

int main(void)
{
	struct itimerval every = {{0, TICK_US}, {0, TICK_US}};
	wp_group_config config = {
		.carriers = CARRIERS, .yield_us = 50, .work_stealing = true, .bind = hold};

	sigaction(SIGALRM, &(struct sigaction){.sa_handler = ignore}, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (refused = 0; refused <= CARRIERS; refused++) {
		wp_group *group = NULL;
		int code, why;

		asked = 0;
		errno = 0;
		code = wp_group_new(&group, &config);
		why = errno;
		printf("%d threads: code %d, errno %s, group %d, left running %u\n", refused, code,
		       code == WP_OK   ? "-"
		       : why == EAGAIN ? "EAGAIN"
				       : "another",
		       group != NULL,
		       group != NULL ? 0 : wp_load_relaxed(&begun) - wp_load_relaxed(&bound));
		if (group == NULL)
			continue;
		while (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
			continue;
		wp_group_free(group);
	}
	return 0;
}
