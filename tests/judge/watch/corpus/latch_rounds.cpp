/* SPDX-License-Identifier: Apache-2.0
 * latch_rounds.cpp - threads meet at a std::latch each 10 ms.
 *
 * Class      healthy */
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

int main()
{
	for (;;) {
		auto latch = std::make_shared<std::latch>(4);
		std::vector<std::thread> threads;

		for (int at = 0; at < 4; at++)
			threads.emplace_back([latch, at] {
				std::this_thread::sleep_for(std::chrono::milliseconds(3 * at));
				latch->arrive_and_wait();
			});
		for (auto &thread : threads)
			thread.join();
	}
}
