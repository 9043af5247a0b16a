/* SPDX-License-Identifier: Apache-2.0
 * qemu_333.c - it may look at the device again, and nobody tells it.
 *
 * System     QEMU (AioContext)
 * Issue      https://lists.gnu.org/archive/html/qemu-block/2017-05/msg00333.html
 * Year       2017
 * Seen       A disk does not answer any more after a snapshot of it was made.
 * Mechanism  While the main thread has disabled external events, the thread of a device leaves the
 *            descriptors of the guest out when it polls. If it is in the poll when they are enabled
 *            again, it still polls without them: the count is changed, and the poll is not ended.
 * Claim      A request of the guest is served when external events are enabled.
 * Shows      asleep asleep asleep */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int notifier, guest;
static atomic_int disabled = 1;

static void set_event(int event)
{
	uint64_t one = 1;

	write(event, &one, sizeof(one));
}

static void *run_device(void *unused)
{
	struct pollfd events[] = {{.fd = notifier, .events = POLLIN},
				  {.fd = guest, .events = POLLIN}};
	uint64_t count;

	do {
		poll(events, disabled ? 1 : 2, -1);
		read(notifier, &count, sizeof(count));
	} while (read(guest, &count, sizeof(count)) < 0);
	return unused;
}

static void enable_external(void)
{
	int before = atomic_fetch_sub(&disabled, 1);

#ifdef FIXED
	if (before == 1)
		set_event(notifier);
#else
	(void)before;
#endif
}

int main(void)
{
	pthread_t device;

	notifier = eventfd(0, EFD_NONBLOCK);
	guest = eventfd(0, EFD_NONBLOCK);
	pthread_create(&device, NULL, run_device, NULL);
	enable_external();
	set_event(guest); /* a request */
	pthread_join(device, NULL);
	return 0;
}
