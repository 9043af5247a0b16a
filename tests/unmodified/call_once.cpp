/* SPDX-License-Identifier: Apache-2.0
 * call_once.cpp - the first of two threads makes a table.
 * BUG: a flag of its own, relaxed, in place of std::once_flag. */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

static std::once_flag once;
static std::atomic<bool> is_made;
static int table;

static void use()
{
#ifdef BUG
	if (!is_made.exchange(true, std::memory_order_relaxed))
		table = 3;
#else
	std::call_once(once, [] { table = 3; });
#endif
	assert(table == 3);
}

int main()
{
	std::thread one(use), other(use);

	one.join();
	other.join();
}
