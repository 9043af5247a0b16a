/* SPDX-License-Identifier: Apache-2.0
 * seqlock.cpp - one thread stores a pair twice, the main thread loads it.
 * Claim: the two halves of what is loaded belong together.
 * BUG: the halves are stored by two updates. */
#include <cassert>
#include <cstdint>
#include <thread>
#include <xenium/seqlock.hpp>

struct pair {
	std::uint64_t left, right;
};

int main()
{
	xenium::seqlock<pair> lock(pair{0, 0});

	std::thread writer([&] {
#ifdef BUG
		lock.update([](pair &now) { now.left = 1; });
		lock.update([](pair &now) { now.right = 1; });
#else
		lock.store(pair{1, 1});
#endif
	});
	pair found = lock.load();
	assert(found.left == found.right);
	writer.join();
}
