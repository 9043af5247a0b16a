/* SPDX-License-Identifier: Apache-2.0
 * spsc_ring.cpp - a ring for one producer and one consumer.
 * BUG: the producer publishes its position by a relaxed store. */
#include <array>
#include <atomic>
#include <cassert>
#include <thread>

#ifdef BUG
constexpr auto publish = std::memory_order_relaxed;
#else
constexpr auto publish = std::memory_order_release;
#endif

template <typename T, unsigned capacity> class ring {
public:
	bool push(T value)
	{
		unsigned at = tail.load(std::memory_order_relaxed);

		if (at - head.load(std::memory_order_acquire) == capacity)
			return false;
		values[at % capacity] = value;
		tail.store(at + 1, publish);
		return true;
	}

	bool pop(T &value)
	{
		unsigned at = head.load(std::memory_order_relaxed);

		if (at == tail.load(std::memory_order_acquire))
			return false;
		value = values[at % capacity];
		head.store(at + 1, std::memory_order_release);
		return true;
	}

private:
	std::array<T, capacity> values;
	std::atomic<unsigned> head{0}, tail{0};
};

static ring<int, 1> numbers;

int main()
{
	std::thread producer([] {
		for (int i = 1; i <= 2; i++)
			while (!numbers.push(i))
				;
	});

	for (int i = 1, value; i <= 2; i++) {
		while (!numbers.pop(value))
			;
		assert(value == i);
	}
	producer.join();
}
