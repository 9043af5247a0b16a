/* SPDX-License-Identifier: Apache-2.0
 * intrusive_pointer.cpp - an object that counts its owners and deletes itself.
 * BUG: the count goes down by a relaxed update. */
#include <atomic>
#include <thread>

#ifdef BUG
constexpr auto down = std::memory_order_relaxed;
#else
constexpr auto down = std::memory_order_acq_rel;
#endif

struct object {
	std::atomic<int> owners{2};
	int value = 7;

	void release()
	{
		if (owners.fetch_sub(1, down) == 1)
			delete this;
	}
};

int main()
{
	auto *shared = new object;
	int seen = 0;
	std::thread other([shared, &seen] {
		seen = shared->value;
		shared->release();
	});

	shared->release();
	other.join();
	return seen != 7;
}
