/* SPDX-License-Identifier: Apache-2.0
 * futex_event.c - a thread waits for an event by the system call.
 * BUG: it sleeps on the value that it reads anew, and not on the one that it has checked. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t event;

static void *set(void *unused)
{
	atomic_store(&event, 1);
	syscall(SYS_futex, &event, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

int main(void)
{
	pthread_t setter;

	pthread_create(&setter, NULL, set, NULL);
	while (atomic_load(&event) == 0) {
#ifdef BUG
		uint32_t seen = atomic_load(&event);
#else
		uint32_t seen = 0;
#endif
		syscall(SYS_futex, &event, FUTEX_WAIT, seen, NULL, NULL, 0);
	}
	pthread_join(setter, NULL);
	return 0;
}
