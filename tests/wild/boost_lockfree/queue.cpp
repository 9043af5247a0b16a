/* SPDX-License-Identifier: Apache-2.0
 * queue.cpp - two threads push an item each into a queue of fixed size, and the main thread pops.
 * Claim: each item comes once, with what was written before, and none is lost.
 * BUG: a producer writes to its item after it was pushed. */
#include <boost/lockfree/queue.hpp>
#include <cassert>
#include <thread>

static int items[2];
static boost::lockfree::queue<int *, boost::lockfree::capacity<2>> queue;

static void push(int at)
{
	items[at] = at + 1;
	assert(queue.push(&items[at]));
#ifdef BUG
	items[at] = at + 1;
#endif
}

int main()
{
	int *found = nullptr;
	int sum = 0;

	std::thread first(push, 0);
	std::thread second(push, 1);
	if (queue.pop(found))
		sum += *found;
	first.join();
	second.join();
	while (queue.pop(found))
		sum += *found;
	assert(sum == 3);
}
