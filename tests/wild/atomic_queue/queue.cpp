/* SPDX-License-Identifier: Apache-2.0
 * queue.cpp - two threads push an item each, and the main thread pops both.
 * Claim: each item comes once, with what was written before.
 * BUG: a producer writes to its item after it was pushed. */
#include <atomic_queue/atomic_queue.h>
#include <cassert>
#include <thread>

static int items[2];
static atomic_queue::QUEUE<int *, 2> queue;

static void push(int at)
{
	items[at] = at + 1;
	queue.push(&items[at]);
#ifdef BUG
	items[at] = at + 1;
#endif
}

int main()
{
	std::thread first(push, 0), second(push, 1);
	int sum = *queue.pop();

	sum += *queue.pop();
	first.join();
	second.join();
	assert(sum == 3);
}
