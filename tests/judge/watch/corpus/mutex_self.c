/* SPDX-License-Identifier: Apache-2.0
 * mutex_self.c - a thread takes a mutex that it holds.
 *
 * Class      owner cycle
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock;

int main(void)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
#ifdef FIXED
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
#endif
	pthread_mutex_init(&lock, &attr);
	pthread_mutex_lock(&lock);
	pthread_mutex_lock(&lock);
	rest();
}
