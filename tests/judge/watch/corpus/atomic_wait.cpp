/* SPDX-License-Identifier: Apache-2.0
 * atomic_wait.cpp - std::atomic::wait, and the store is not notified.
 *
 * Class      forgotten wake
 * Verdict    missed
 * Fixed      waits */
#include <atomic>
#include <chrono>
#include <thread>

static std::atomic<int> ready{0};

int main()
{
	std::thread waiter([] { ready.wait(0); });

	std::this_thread::sleep_for(std::chrono::milliseconds(200));
	ready.store(1);
#ifdef FIXED
	ready.notify_one();
#endif
	waiter.join();
	for (;;)
		std::this_thread::sleep_for(std::chrono::hours(1));
}
