/* SPDX-License-Identifier: Apache-2.0
 * atomic_batch.cpp - std::atomic::wait, and one notification for many stores.
 *
 * Class      healthy */
#include <atomic>
#include <chrono>
#include <thread>

static std::atomic<unsigned> items{0};

int main()
{
	std::thread waiter([] {
		for (unsigned seen = 0;; seen = items.load())
			items.wait(seen);
	});

	for (;;) {
		for (int at = 0; at < 20; at++) {
			items.fetch_add(1);
			std::this_thread::sleep_for(std::chrono::milliseconds(100));
		}
		items.notify_one();
	}
}
