/* SPDX-License-Identifier: Apache-2.0
 * timeout.cpp - a thread waits for a unit with a deadline, while the main thread signals one.
 * Claim: the unit is taken by the wait, or is there afterwards; it is never lost or doubled.
 * BUG: the program expects that the wait never times out. */
#include <cassert>
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <thread>

int main()
{
	moodycamel::LightweightSemaphore units(0, 0);
	bool has_taken = false;

	std::thread waiter([&] { has_taken = units.wait(1000); });
	units.signal();
	waiter.join();
#ifdef BUG
	assert(has_taken);
#endif
	assert(units.tryWait() == !has_taken);
	assert(!units.tryWait());
}
