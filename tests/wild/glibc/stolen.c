/* SPDX-License-Identifier: Apache-2.0
 * stolen.c - four items are given, one after another; three threads take them.
 * Claim: who gives an item and signals wakes one that waits for it.
 *
 * The first taker is slow from its signal until it takes the mutex (schedule.h). So the groups of
 * waiters change as in glibc's bug 25847: the slow one takes its signal from the first group, finds
 * that this group has been closed, and gives back a signal to a later group that uses the same place.
 * A thread of the later group wakes without an item and waits again; the group still counts it, and
 * the last signal goes to nobody.
 * BUG: the last item comes without a signal. */
enum { TAKERS = 3 };
#include "schedule.h"

static void *second(void *unused)
{
	who = 1;
	take(&items);
	has_taken++;
	await(&may_begin, 1);
	take(&items);
	has_taken++;
	return unused;
}

static void *third(void *unused)
{
	who = 2;
	take(&items);
	return unused;
}

int main(void)
{
	pthread_t threads[TAKERS];

	pthread_create(&threads[0], NULL, first, NULL);
	await(&waits, 1);
	give(&first_item, 1); /* the first group; it is in place 0 */
	may_look[0]++;
	pthread_create(&threads[1], NULL, second, NULL);
	await(&waits, 2);
	give(&items, 1); /* the second group */
	may_look[1]++;
	await(&has_taken, 1);
	may_begin++;
	await(&waits, 3);
	pthread_create(&threads[2], NULL, third, NULL);
	await(&waits, 4);
	give(&items, 1); /* the third group, of two; it is in place 0 again */
	may_look[1]++;
	await(&has_taken, 2);
	may_look[2]++;
#ifdef BUG
	give(&items, 0);
#else
	give(&items, 1);
#endif
	may_lock++;
	for (int at = 0; at < TAKERS; at++)
		pthread_join(threads[at], NULL);
	return 0;
}
