/* SPDX-License-Identifier: Apache-2.0
 * mutex_shared.c - a process waits for a mutex in shared memory that its child holds.
 *
 * Class      healthy */
#include <sys/mman.h>

#include "hang.h"

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *lock =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(lock, &attr);
	if (fork() == 0) {
		pthread_mutex_lock(lock);
		rest();
	}
	settle();
	pthread_mutex_lock(lock);
	rest();
}
