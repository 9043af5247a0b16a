/* SPDX-License-Identifier: Apache-2.0
 * unseen.c - three items are given, one after another; two threads take them.
 * Claim: who gives an item and signals wakes one that waits for it.
 *
 * As in stolen.c, the first taker is slow, and finds the signal of a later group in the place of its
 * own group.  It must see that its group was closed and that the later one uses the same place, and
 * give the signal back.  Under RC11 it may take the signal and still read the older start of the
 * groups: the signal is added by a relaxed operation, and the last release of this place came before
 * the start changed.  Then it keeps the signal, and the thread of the later group sleeps.
 * BUG: the last item comes without a signal. */
enum { TAKERS = 2 };
#include "schedule.h"

static void *second(void *unused)
{
	who = 1;
	take(&items);
	has_taken++;
	await(&may_begin, 1);
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
#ifdef BUG
	give(&items, 0);
#else
	give(&items, 1);
#endif
	may_look[1]++;
	may_lock++;
	for (int at = 0; at < TAKERS; at++)
		pthread_join(threads[at], NULL);
	return 0;
}
