/* SPDX-License-Identifier: Apache-2.0
 * late_wake.c - a thread stores a value, works for 4 s, and only then wakes the thread that waits.
 *
 * Class      healthy */
#include <time.h>

#include "hang.h"

static uint32_t items;

static void *waiter(void *arg)
{
	uint32_t seen = 0;

	for (;;) {
		while (__atomic_load_n(&items, __ATOMIC_ACQUIRE) == seen)
			futex(&items, FUTEX_WAIT_PRIVATE, seen);
		seen = __atomic_load_n(&items, __ATOMIC_ACQUIRE);
	}
	return arg;
}

static void work(clock_t seconds)
{
	clock_t end = clock() + seconds * CLOCKS_PER_SEC;

	while (clock() < end)
		continue;
}

int main(void)
{
	start(waiter);
	for (;;) {
		settle();
		__atomic_fetch_add(&items, 1, __ATOMIC_RELEASE);
		work(4);
		futex(&items, FUTEX_WAKE_PRIVATE, 1);
	}
}
