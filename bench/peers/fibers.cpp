// SPDX-License-Identifier: Apache-2.0

// The rows of bench/vthread.c and bench/sync.c with Boost.Fiber, on one thread: `fibers ROW
// OPERATIONS CPU..` prints nanoseconds of CPU time per operation.
#include <boost/fiber/all.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fibers = boost::fibers;

static const int MANY = 64, SLOTS = 64;

// Stacks are reused, because a start would otherwise measure mostly the system.
static fibers::pooled_fixedsize_stack stacks;

static double cpu()
{
	timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static fibers::fiber start(std::function<void()> body)
{
	return fibers::fiber(std::allocator_arg, stacks, std::move(body));
}

static void both(std::function<void()> first, std::function<void()> second)
{
	fibers::fiber left = start(std::move(first)), right = start(std::move(second));

	left.join();
	right.join();
}

static void yields(long ops)
{
	auto half = [ops] {
		for (long k = 0; k < ops / 2; k++)
			boost::this_fiber::yield();
	};

	both(half, half);
}

// A turn to and fro; park and unpark are not public.
static void turns(long ops)
{
	fibers::unbuffered_channel<int> there, back;
	int turn;

	both([&] { for (long k = 0; k < ops; k++) { there.push(1); back.pop(turn); } },
	     [&] { for (long k = 0; k < ops; k++) { there.pop(turn); back.push(1); } });
}

static void joins(long ops)
{
	for (long k = 0; k < ops; k++)
		fibers::fiber(std::allocator_arg, stacks, [] {}).join();
}

template <class Channel> static void pass(Channel &channel, long ops)
{
	both([&] { for (long k = 0; k < ops; k++) channel.push(&channel); },
	     [&] { void *item; for (long k = 0; k < ops; k++) channel.pop(item); });
}

static void hand(long ops)
{
	fibers::unbuffered_channel<void *> channel;

	pass(channel, ops);
}

static void slots(long ops)
{
	fibers::buffered_channel<void *> channel(SLOTS);

	pass(channel, ops);
}

static void contend(long ops, int many, void (*hold)())
{
	fibers::mutex mutex;
	std::vector<fibers::fiber> all;

	for (int k = 0; k < many; k++)
		all.push_back(start([&mutex, ops, many, hold] {
			for (long k = 0; k < ops / many; k++) {
				mutex.lock();
				hold();
				mutex.unlock();
			}
		}));
	for (fibers::fiber &one : all)
		one.join();
}

static void nothing() {}

int main(int argc, char **argv)
{
	const std::map<std::string, std::function<void(long)>> rows = {
		{"vthread_yield", yields},
		{"vthread_turns", turns},
		{"vthread_join", joins},
		{"channel_hand", hand},
		{"channel_slots", slots},
		{"mutex_free", [](long ops) { contend(ops, 1, nothing); }},
		{"mutex_one", [](long ops) { contend(ops, MANY, boost::this_fiber::yield); }},
	};
	const long ops = std::stol(argv[2]);
	double begun;

	(void)argc;
	rows.at(argv[1])(ops); // once to warm up
	begun = cpu();
	rows.at(argv[1])(ops);
	std::cout << (cpu() - begun) / ops << "\n";
}
