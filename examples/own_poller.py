# SPDX-License-Identifier: Apache-2.0
"""A poller of your own: virtual threads wait for pipes at a selector that their carrier shares.

    python examples/own_poller.py [PIPES]

No additional OS thread waits for the pipes: the carrier itself sleeps in ``select``.  A thread that
gives work to the carrier meanwhile ends the sleep by a write to an eventfd.
"""

from __future__ import annotations

import os
import selectors
import sys

import wakeproof
from wakeproof import CarrierGroup, Poller, VirtualThread


class Waits:
    """The virtual threads that wait, by descriptor.

    All of them run on one carrier, one at a time, so no lock is needed.
    """

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.selector.register(self.event, selectors.EVENT_READ)
        self.sleeps = self.wakeups = 0

    def until_readable(self, fd: int) -> None:
        """Park the calling virtual thread until the descriptor is readable."""
        self.selector.register(fd, selectors.EVENT_READ, wakeproof.current())
        while fd in self.selector.get_map():  # a park may return because of an older permit
            wakeproof.park()

    def look(self, seconds: float | None) -> bool:
        """Wake the threads with a readable descriptor; return whether anything was readable."""
        found = self.selector.select(seconds)
        for key, _ in found:
            if key.data is None:
                os.eventfd_read(self.event)
            else:
                self.selector.unregister(key.fd)
                key.data.unpark()
        return bool(found)

    def body(self, poller: Poller) -> None:
        """Check the descriptors, let other threads run, and sleep when there is nothing to run.

        The close of the group ends this loop by a PollerClosedError.
        """
        while True:
            poller.maybe_yield(self.look(0))
            with poller.try_park() as parked:
                if parked and poller.can_park():
                    self.sleeps += 1
                    self.look(poller.until())

    def wakeup(self) -> None:
        """End the sleep of the poller, also one that is about to begin."""
        self.wakeups += 1
        os.eventfd_write(self.event, 1)

    def close(self) -> None:
        """Close what `wakeup` uses; no thread is in `wakeup` once the poller has ended."""
        self.selector.close()
        os.close(self.event)


def read(waits: Waits, fd: int) -> bytes:
    """Read a message, in a virtual thread."""
    waits.until_readable(fd)
    return os.read(fd, 100)


def main(count: int) -> None:
    """Write to each pipe in the main thread; a virtual thread for each pipe reads the message."""
    waits, pipes = Waits(), [os.pipe() for _ in range(count)]
    with CarrierGroup(1) as group:
        thread = group[0].register_poller(waits.wakeup, waits.body, name="selector")
        readers = [VirtualThread(read, waits, fd, group=group[0]).start() for fd, _ in pipes]
        for number, (_, fd) in enumerate(pipes):
            os.write(fd, b"%d" % number)
        messages = [int(reader.result()) for reader in readers]
    thread.result()  # raises an error that the poller has raised
    waits.close()
    for fd in (fd for pair in pipes for fd in pair):
        os.close(fd)
    is_all = messages == list(range(count))
    print(f"{count} pipes, one carrier: {'each' if is_all else 'NOT each'} message was read")
    print(f"{waits.sleeps} sleeps in the system, {waits.wakeups} wakeups")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
