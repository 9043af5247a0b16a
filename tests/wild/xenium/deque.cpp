/* SPDX-License-Identifier: Apache-2.0
 * deque.cpp - the owner pushes two items and pops, while another thread steals.
 * Claim: each item comes to one of the two, with what was written before.
 * BUG: the owner writes to an item after it was pushed. */
#include <cassert>
#include <thread>
#include <xenium/chase_work_stealing_deque.hpp>

static int items[2];

int main()
{
	xenium::chase_work_stealing_deque<int, xenium::policy::container<
		xenium::detail::fixed_size_circular_array<int, 2>>> deque;
	int stolen = 0, popped = 0;

	std::thread thief([&] {
		int *found = nullptr;
		if (deque.try_steal(found))
			stolen = *found;
	});
	for (int at = 0; at < 2; at++) {
		items[at] = at + 1;
		assert(deque.try_push(&items[at]));
#ifdef BUG
		items[at] = at + 1;
#endif
	}
	for (int *found = nullptr; deque.try_pop(found);)
		popped += *found;
	thief.join();
	assert(stolen + popped == 3);
}
