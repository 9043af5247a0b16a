/* SPDX-License-Identifier: Apache-2.0
 * queue.cpp - a queue whose blocks hold one item: one thread enqueues three, the main thread takes
 * what it finds.
 * Claim: items come once, in their order, with what was written before, and none is lost.
 * BUG: the producer writes to an item after it was enqueued. */
#include <cassert>
#include <readerwriterqueue/readerwriterqueue.h>
#include <thread>

enum { ITEMS = 3 };

static int items[ITEMS];

int main()
{
	moodycamel::ReaderWriterQueue<int *, 2> queue(1);
	int *found = nullptr;
	int last = 0;

	std::thread producer([&] {
		for (int at = 0; at < ITEMS; at++) {
			items[at] = at + 1;
			assert(queue.enqueue(&items[at]));
#ifdef BUG
			items[at] = at + 1;
#endif
		}
	});
	for (int attempt = 0; attempt < ITEMS; attempt++)
		if (queue.try_dequeue(found)) {
			assert(*found == last + 1);
			last = *found;
		}
	producer.join();
	while (queue.try_dequeue(found)) {
		assert(*found == last + 1);
		last = *found;
	}
	assert(last == ITEMS);
}
