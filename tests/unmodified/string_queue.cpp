/* SPDX-License-Identifier: Apache-2.0
 * string_queue.cpp - a queue of strings, a mutex and a condition.
 * BUG: nobody is told that there is a string. */
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

class queue {
public:
	void push(std::string text)
	{
		std::lock_guard<std::mutex> held(mutex);

		texts.push_back(std::move(text));
#ifndef BUG
		has_text.notify_one();
#endif
	}

	std::string pop()
	{
		std::unique_lock<std::mutex> held(mutex);
		std::string text;

		has_text.wait(held, [this] { return !texts.empty(); });
		text = std::move(texts.front());
		texts.pop_front();
		return text;
	}

private:
	std::mutex mutex;
	std::condition_variable has_text;
	std::deque<std::string> texts;
};

int main()
{
	queue texts;
	std::thread producer([&texts] { texts.push("hello"); });

	assert(texts.pop() == "hello");
	producer.join();
}
