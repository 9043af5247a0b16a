/* SPDX-License-Identifier: Apache-2.0
 * mutex_behind.c - a third thread waits for a mutex of a deadlock.
 *
 * Class      owner cycle
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *arg)
{
	pthread_mutex_lock(&right);
	meet();
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return arg;
}

static void *third(void *arg)
{
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	return arg;
}

int main(void)
{
	pthread_mutex_lock(&left);
	start(other);
	meet();
	start(third);
#ifdef FIXED
	pthread_mutex_unlock(&left);
#endif
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	rest();
}
