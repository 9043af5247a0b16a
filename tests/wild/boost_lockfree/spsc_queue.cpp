/* SPDX-License-Identifier: Apache-2.0
 * spsc_queue.cpp - one thread pushes two items, the main thread pops what it finds.
 * Claim: items come once, in their order, with what was written before.
 * BUG: a second consumer, which this queue does not allow. */
#include <boost/lockfree/spsc_queue.hpp>
#include <cassert>
#include <thread>

static int items[2];
static boost::lockfree::spsc_queue<int *, boost::lockfree::capacity<1>> queue;

static void consume()
{
	int *found = nullptr;
	int last = 0;

	for (int attempt = 0; attempt < 3; attempt++)
		if (queue.pop(found)) {
			assert(*found > last);
			last = *found;
		}
}

int main()
{
	std::thread producer([] {
		for (int at = 0; at < 2; at++) {
			items[at] = at + 1;
			for (int attempt = 0; attempt < 2; attempt++)
				if (queue.push(&items[at]))
					break;
		}
	});
#ifdef BUG
	std::thread other(consume);
#endif
	consume();
	producer.join();
#ifdef BUG
	other.join();
#endif
}
