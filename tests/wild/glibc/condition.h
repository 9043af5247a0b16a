/* SPDX-License-Identifier: Apache-2.0
 * condition.h - glibc's condition variable under the names that its files give to it. */
#pragma once
#include <pthread.h>

int ___pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int ___pthread_cond_signal(pthread_cond_t *cond);
int ___pthread_cond_broadcast(pthread_cond_t *cond);

/* The program's: how a wait releases the mutex, when it is in line, and takes it again. */
int unlock_to_wait(pthread_mutex_t *mutex);
int lock_after_wait(pthread_mutex_t *mutex);
