/* SPDX-License-Identifier: Apache-2.0
 * exceptions.cpp - two threads throw and catch at the same time, and use thread_local objects.
 * BUG: what one thread throws is counted before it is caught. */
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <string>
#include <thread>

struct counter {
	int caught = 0;
	~counter() { total.fetch_add(caught); }
	static std::atomic<int> total;
};
std::atomic<int> counter::total{0};
static thread_local counter own;

static void fail(int number)
{
	try {
#ifdef BUG
		if (number == 2)
			own.caught++;
#endif
		throw std::runtime_error(std::to_string(number));
	} catch (const std::exception &error) {
		own.caught += error.what() == std::to_string(number);
	}
}

int main()
{
	std::thread one(fail, 1), other(fail, 2);

	one.join();
	other.join();
	assert(counter::total == 2);
}
