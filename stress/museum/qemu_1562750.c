/* SPDX-License-Identifier: Apache-2.0
 * qemu_1562750.c - the one that has notified takes the notification back.
 *
 * System     QEMU (AioContext)
 * Issue      https://gitcode.net/openeuler/qemu/-/commit/b37548fcd1b8ac2e88e185a395bef851f3fc4e65
 * Year       2018
 * Seen       A guest hangs while it boots: its disk does not answer.
 * Mechanism  The thread of a device says that it wants to be notified, and polls. The main thread
 *            enables the device again, and notifies, which sets an event. Then it runs the same
 *            context once without blocking, at whose end each run accepts the notification: it
 *            clears the event. The poll does not return.
 * Claim      A thread that was notified looks at its devices again.
 * Shows      asleep asleep asleep */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int notifier;
static atomic_int notify_me, disabled = 1; /* the devices */

static void notify(void)
{
	uint64_t one = 1;

	if (notify_me)
		write(notifier, &one, sizeof(one));
}

static void accept_notification(void)
{
	uint64_t count;

	read(notifier, &count, sizeof(count));
}

static void poll_context(bool blocks)
{
	struct pollfd event = {.fd = notifier, .events = POLLIN};

	if (blocks) {
		notify_me++;
		if (disabled)
			poll(&event, 1, -1);
		notify_me--;
		accept_notification();
	}
#ifndef FIXED
	if (!blocks)
		accept_notification();
#endif
}

static void *run_devices(void *unused)
{
	while (disabled)
		poll_context(true);
	return unused;
}

int main(void)
{
	pthread_t device_thread;

	notifier = eventfd(0, EFD_NONBLOCK);
	pthread_create(&device_thread, NULL, run_devices, NULL);
	disabled = 0;
	notify();
	poll_context(false);
	pthread_join(device_thread, NULL);
	return 0;
}
