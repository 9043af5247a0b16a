/* SPDX-License-Identifier: Apache-2.0
 * sync.c - see sync.h. */
#include "sync.h"

#include <stdlib.h>

#include "sched/vthread_start.h"

wp_mutex *wp__mutex_new(void)
{
	wp_mutex *mutex = malloc(sizeof *mutex);

	if (mutex != NULL)
		wp_mutex_init(mutex);
	return mutex;
}

void wp__mutex_free(wp_mutex *mutex)
{
	free(mutex);
}

wp_condition *wp__condition_new(void)
{
	wp_condition *condition = malloc(sizeof *condition);

	if (condition != NULL)
		wp_condition_init(condition);
	return condition;
}

void wp__condition_free(wp_condition *condition)
{
	free(condition);
}

wp_semaphore *wp__semaphore_new(uint32_t permits)
{
	wp_semaphore *semaphore = malloc(sizeof *semaphore);

	if (semaphore != NULL)
		wp_semaphore_init(semaphore, permits);
	return semaphore;
}

void wp__semaphore_free(wp_semaphore *semaphore)
{
	free(semaphore);
}

wp_channel *wp__channel_new(uint32_t capacity)
{
	wp_channel *channel = malloc(sizeof *channel + capacity * sizeof(void *));

	if (channel != NULL)
		wp_channel_init(channel, (void **)(void *)(channel + 1), capacity);
	return channel;
}

void wp__channel_free(wp_channel *channel)
{
	wp_channel_fini(channel);
	free(channel);
}

wp_waiter *wp__waiter_new(wp_vthread *thread)
{
	wp_waiter *waiter = malloc(sizeof *waiter);

	if (waiter != NULL)
		wp__waiter_init(waiter, thread, wp__vthread_push);
	return waiter;
}

void wp__waiter_free(wp_waiter *waiter)
{
	free(waiter);
}

void wp__waiter_unparked(wp_waiter *waiter)
{
	wp__waiter_refused(waiter);
}

bool wp__semaphore_check(wp_semaphore *semaphore, wp_waiter *waiter)
{
	return wp__waiter_check(&semaphore->lock, waiter);
}

int wp__waiter_result(const wp_waiter *waiter)
{
	return waiter->result;
}

void *wp__waiter_value(const wp_waiter *waiter)
{
	return waiter->value;
}
