// SPDX-License-Identifier: Apache-2.0
/* Preloaded: the wall clock jumps by five hours, forth and back, each second time it is read. */

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { JUMP_S = 5 * 3600 };

static atomic_uint reads;

static int (*real(void))(clockid_t, struct timespec *)
{
	return __extension__(
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"));
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int failed = real()(clock, now);

	if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += (reads++ % 2) ? JUMP_S : -JUMP_S;
	return failed;
}

time_t time(time_t *where)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	if (where)
		*where = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
	struct timespec now = {0};

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*to = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}
