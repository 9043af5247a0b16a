/* SPDX-License-Identifier: Apache-2.0
 * condition.cpp - three threads give, and main waits until all have. */
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

struct shared {
	std::mutex mutex;
	std::condition_variable changed;
	int given = 0;
};

static void give(const std::shared_ptr<shared> &of)
{
	std::lock_guard<std::mutex> held(of->mutex);

	of->given++;
	of->changed.notify_one();
}

int main()
{
	auto of = std::make_shared<shared>();
	std::thread one([of] { give(of); }), two([of] { give(of); }), three([of] { give(of); });

	{
		std::unique_lock<std::mutex> held(of->mutex);

		of->changed.wait(held, [&] { return of->given == 3; });
	}
	one.join();
	two.join();
	three.join();
}
