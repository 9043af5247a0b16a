/* SPDX-License-Identifier: Apache-2.0
 * rclcpp_2177.c - the event is thrown away, and the mark that it is in the queue stays.
 *
 * System     ROS 2, rclcpp (events executor)
 * Issue      https://github.com/ros2/rclcpp/pull/2177
 * Year       2023
 * Seen       An executor does not react to an interrupt or to the shutdown any more, under load.
 * Mechanism  An event is put into the queue only if a flag says that none is there; who processes
 *            the event clears the flag. A node is added: an event is pushed, and the entities of
 *            the executor are refreshed after that. If the executor takes the event before, it does
 *            not know whose it is and throws it away, flag and all. Later events are not pushed.
 * Claim      A notification is processed.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static sem_t events; /* in the queue */
static atomic_bool is_pushed, is_known, shall_stop;

static void notify(void)
{
	if (!atomic_exchange(&is_pushed, true))
		sem_post(&events);
}

static void process_event(void)
{
	if (!is_known)
		return;
	is_pushed = false;
}

static void *execute(void *unused)
{
	while (!shall_stop) {
		sem_wait(&events);
		process_event();
	}
	return unused;
}

static void add_node(void)
{
#ifdef FIXED
	is_known = true;
#endif
	notify();
	is_known = true; /* the entities are refreshed */
}

static void stop(void)
{
	shall_stop = true;
	notify();
}

int main(void)
{
	pthread_t executor;

	sem_init(&events, 0, 0);
	pthread_create(&executor, NULL, execute, NULL);
	add_node();
	stop();
	pthread_join(executor, NULL);
	return 0;
}
