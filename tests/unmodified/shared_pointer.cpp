/* SPDX-License-Identifier: Apache-2.0
 * shared_pointer.cpp - two threads hold one object by std::shared_ptr.
 * BUG: both change one pointer, which is not atomic. */
#include <cassert>
#include <memory>
#include <thread>

int main()
{
	auto shared = std::make_shared<int>(5);
#ifdef BUG
	std::thread other([&shared] { shared.reset(); });
#else
	std::thread other([shared] { assert(*shared == 5); });
#endif

	shared.reset();
	other.join();
}
