/* SPDX-License-Identifier: Apache-2.0
 * eventfd_short.c - two threads read an eventfd that was written once.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include <sys/eventfd.h>

#include "hang.h"

static int items;

static void *consumer(void *arg)
{
	eventfd_t one;

	return read(items, &one, sizeof one) == sizeof one ? arg : NULL;
}

int main(void)
{
	pthread_t first, second;
	eventfd_t one = 1;

	items = eventfd(0, EFD_SEMAPHORE);
	first = start(consumer);
	second = start(consumer);
#ifdef FIXED
	one = 2;
#endif
	if (write(items, &one, sizeof one) != sizeof one)
		return 1;
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	rest();
}
