/* SPDX-License-Identifier: Apache-2.0
 * lock_guard.cpp - two std::threads append to a vector under a mutex.
 * BUG: one of them forgets the mutex. */
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::vector<int> values;

int main()
{
	std::thread one([] {
		std::lock_guard<std::mutex> held(mutex);
		values.push_back(1);
	});
	std::thread other([] {
#ifndef BUG
		std::lock_guard<std::mutex> held(mutex);
#endif
		values.push_back(2);
	});

	one.join();
	other.join();
	assert(values.size() == 2);
}
