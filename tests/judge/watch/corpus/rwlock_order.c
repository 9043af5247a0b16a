/* SPDX-License-Identifier: Apache-2.0
 * rwlock_order.c - a writer waits for a mutex whose holder waits for the writer.
 *
 * Class      owner cycle
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *reader(void *arg)
{
	pthread_mutex_lock(&lock);
	meet();
	pthread_rwlock_rdlock(&table);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_rwlock_wrlock(&table);
	start(reader);
	meet();
#ifdef FIXED
	pthread_rwlock_unlock(&table);
#endif
	pthread_mutex_lock(&lock);
	rest();
}
