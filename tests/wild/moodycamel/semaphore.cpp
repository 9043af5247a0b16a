/* SPDX-License-Identifier: Apache-2.0
 * semaphore.cpp - two threads wait for a unit each, and the main thread signals two.
 * Claim: each unit that was signalled ends one wait, and what was written before is seen.
 * BUG: one unit too few. */
#include <cassert>
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <thread>

#ifdef BUG
enum { UNITS = 1 };
#else
enum { UNITS = 2 };
#endif

static int item;

int main()
{
	moodycamel::LightweightSemaphore units(0, 1);
	auto wait = [&units] {
		units.wait();
		assert(item == 7);
	};

	std::thread first(wait), second(wait);
	item = 7;
	units.signal(UNITS);
	first.join();
	second.join();
}
