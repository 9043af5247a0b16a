/* SPDX-License-Identifier: Apache-2.0
 * stack.cpp - two threads pop and push on a stack of two items, whose nodes are used again.
 * Claim: each item is popped by one thread, and none is lost.
 * BUG: the stack is told that it has one thread only. */
#include <boost/lockfree/stack.hpp>
#include <cassert>
#include <thread>

static boost::lockfree::stack<int, boost::lockfree::capacity<2>> stack;

static int pop()
{
	int found = 0;
#ifdef BUG
	stack.unsynchronized_pop(found);
#else
	stack.pop(found);
#endif
	return found;
}

int main()
{
	int other = 0, mine;

	stack.push(1);
	stack.push(2);
	std::thread popper([&] {
		other = pop();
		stack.push(4);
	});
	mine = pop();
	popper.join();
	assert(mine != other || mine == 0);
	for (int found = 0; stack.pop(found);)
		mine += found;
	assert(mine + other == 7);
}
