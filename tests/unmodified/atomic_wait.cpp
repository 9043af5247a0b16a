/* SPDX-License-Identifier: Apache-2.0
 * atomic_wait.cpp - std::atomic::wait and notify, of C++20.
 * BUG: the value changes and nobody is notified. */
#include <atomic>
#include <thread>

static std::atomic<int> ready{0};

int main()
{
	std::thread setter([] {
		ready.store(1);
#ifndef BUG
		ready.notify_one();
#endif
	});

	ready.wait(0);
	setter.join();
}
