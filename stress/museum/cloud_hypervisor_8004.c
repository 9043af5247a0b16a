/* SPDX-License-Identifier: Apache-2.0
 * cloud_hypervisor_8004.c - the request is saved, and the kick that announced it is not.
 *
 * System     Cloud Hypervisor (virtio devices, snapshots)
 * Issue      https://github.com/cloud-hypervisor/cloud-hypervisor/pull/8004
 * Year       2026
 * Seen       A guest hangs after it was restored from a snapshot of its early boot.
 * Mechanism  The guest puts a request into a queue and kicks the device, which is a count in an
 *            event descriptor. If the device is paused before it has read that, the snapshot has
 *            the queue with the request, and a new descriptor is empty. The device waits for a kick
 *            and the guest for the request.
 * Claim      A request in the queue is served.
 * Shows      asleep asleep asleep */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static atomic_int queue;
static int kick_event, pause_event;
static sem_t request_done;

static void signal_event(int event)
{
	uint64_t one = 1;

	write(event, &one, sizeof(one));
}

static void *run_device(void *unused)
{
	struct pollfd events[] = {{.fd = pause_event, .events = POLLIN},
				  {.fd = kick_event, .events = POLLIN}};
	uint64_t count;

	for (;;) {
		poll(events, 2, -1);
		if (events[0].revents & POLLIN)
			return unused;
		read(kick_event, &count, sizeof(count));
		if (atomic_exchange(&queue, 0))
			sem_post(&request_done);
	}
}

static pthread_t start_device(void)
{
	pthread_t device;

	kick_event = eventfd(0, EFD_NONBLOCK);
	pause_event = eventfd(0, EFD_NONBLOCK);
	pthread_create(&device, NULL, run_device, NULL);
	return device;
}

int main(void)
{
	pthread_t device;

	sem_init(&request_done, 0, 0);
	device = start_device();
	queue = 1; /* the guest makes a request */
	signal_event(kick_event);
	signal_event(pause_event); /* the snapshot is made, and restored */
	pthread_join(device, NULL);
	start_device();
#ifdef FIXED
	signal_event(kick_event);
#endif
	sem_wait(&request_done); /* the guest goes on */
	return 0;
}
