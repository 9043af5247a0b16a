/* SPDX-License-Identifier: Apache-2.0
 * shared_lock.cpp - readers and a writer with std::shared_mutex.
 * BUG: the writer takes the lock as a reader does. */
#include <cassert>
#include <mutex>
#include <shared_mutex>
#include <thread>

static std::shared_mutex mutex;
static int first, second;

int main()
{
	std::thread writer([] {
#ifdef BUG
		std::shared_lock<std::shared_mutex> held(mutex);
#else
		std::unique_lock<std::shared_mutex> held(mutex);
#endif
		first++;
		second++;
	});

	{
		std::shared_lock<std::shared_mutex> held(mutex);

		assert(first == second);
	}
	writer.join();
}
