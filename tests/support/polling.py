# SPDX-License-Identifier: Apache-2.0
"""A poller of Python that counts its steps: as programs/sched/poller_case.h."""

from __future__ import annotations

import os
import select
import selectors
import socket
from collections.abc import Callable
from typing import Any

from tests.support.virtual import PATIENCE_S

import wakeproof
from wakeproof import Carrier, CarrierGroup, Poller, VirtualThread


class Eventfd:
    """Sleeps at an epoll, and is woken through an eventfd."""

    def __init__(self) -> None:
        self.event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.epoll = select.epoll()
        self.epoll.register(self.event, select.EPOLLIN)

    def wake(self) -> None:
        os.eventfd_write(self.event, 1)

    def sleep(self, seconds: float | None) -> bool:
        events = self.epoll.poll(seconds)
        for fd, _ in events:
            os.eventfd_read(fd)
        return bool(events)

    def close(self) -> None:
        self.epoll.close()
        os.close(self.event)


class Pair:
    """Sleeps at a selector, and is woken through a pair of sockets."""

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.here.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.here, selectors.EVENT_READ)

    def wake(self) -> None:
        self.there.send(b".")

    def sleep(self, seconds: float | None) -> bool:
        events = self.selector.select(seconds)
        for _ in events:
            self.here.recv(100)
        return bool(events)

    def close(self) -> None:
        self.selector.close()
        self.here.close()
        self.there.close()


class One:
    """A poller. `aside`: times it was descheduled; `unasked`: times it took itself for parked."""

    def __init__(self, at: Eventfd | Pair | None = None, **how: Any) -> None:
        self.at = Eventfd() if at is None else at
        self.told: bool = how.pop("told", False)  # to end
        self.looks = self.tries = self.blocks = self.wakeups = self.aside = self.unasked = 0
        self.had_io: bool = how.pop("had_io", True)
        self.spins: bool = how.pop("spins", False)
        self.leaves: bool = how.pop("leaves", False)  # it never reports that it is back
        self.resumes: VirtualThread | None = how.pop("resumes", None)
        self.steps_aside: bool = how.pop("steps_aside", False)
        assert not how

    def register(self, carrier: Carrier, **more: Any) -> VirtualThread:
        return carrier.register_poller(self.wakeup, self.body, **more)

    def wakeup(self) -> None:
        self.wakeups += 1
        self.at.wake()

    def body(self, poller: Poller) -> int:
        while not self.told:
            poller.maybe_yield(self.had_io)
            self.looks += 1
            if self.spins:
                continue
            # A poller that finds work may also have been seen by the thread that brought it.
            self.tries += 1
            if self.leaves:
                self.parked(poller, bool(poller.try_park()))
                continue
            with poller.try_park() as parked:
                self.parked(poller, parked)
        return self.looks

    def parked(self, poller: Poller, parked: bool) -> None:
        if not parked:
            return
        if self.steps_aside:  # descheduled: the others run
            self.aside += 1
            wakeproof.sleep(0.001)
            wakeproof.yield_now()  # the time may be over before it sleeps
            self.unasked += poller.can_park()
            return
        if self.resumes is not None:
            self.resumes.unpark()
        if poller.can_park():
            self.blocks += 1
            until = poller.until()
            assert self.at.sleep(PATIENCE_S if until is None else until) or until is not None, (
                "lost"
            )

    def close(self) -> None:
        self.at.close()


Make = Callable[..., One]


def run_on(group: CarrierGroup, fn: Callable[[], object]) -> object:
    """Run it as a virtual thread of the first carrier; wait for it."""
    return group[0].factory(pinned=True)(fn).result(PATIENCE_S)
