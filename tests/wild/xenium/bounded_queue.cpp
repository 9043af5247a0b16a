/* SPDX-License-Identifier: Apache-2.0
 * bounded_queue.cpp - two threads push an item each, and the main thread pops.
 * Claim: each item comes once, with what was written before.
 * BUG: a producer writes to its item after it was pushed. */
#include <cassert>
#include <thread>
#include <xenium/vyukov_bounded_queue.hpp>

static int items[2];

int main()
{
	xenium::vyukov_bounded_queue<int *> queue(2);
	auto push = [&](int at) {
		items[at] = at + 1;
		assert(queue.try_push(&items[at]));
#ifdef BUG
		items[at] = at + 1;
#endif
	};
	int *found = nullptr;
	int sum = 0;

	std::thread first(push, 0), second(push, 1);
	if (queue.try_pop(found))
		sum += *found;
	first.join();
	second.join();
	while (queue.try_pop(found))
		sum += *found;
	assert(sum == 3);
}
