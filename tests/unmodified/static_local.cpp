/* SPDX-License-Identifier: Apache-2.0
 * static_local.cpp - a static variable of a function, which two threads use first.
 * BUG: its object is made by hand, without a guard. */
#include <cassert>
#include <thread>

struct settings {
	int depth;

	settings() : depth(4) {}
};

static settings &instance()
{
#ifdef BUG
	static settings *made;

	if (!made)
		made = new settings;
	return *made;
#else
	static settings made;

	return made;
#endif
}

int main()
{
	std::thread one([] { assert(instance().depth == 4); });
	std::thread other([] { assert(instance().depth == 4); });

	one.join();
	other.join();
}
