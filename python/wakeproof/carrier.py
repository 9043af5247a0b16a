# SPDX-License-Identifier: Apache-2.0
"""Carriers: the threads of a group.

Spec: ``specs/sched/Carrier.tla``, ``Group.tla``.  Source: ``kernel/sched/carrier.h``, ``worker.h``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wakeproof import counts
from wakeproof._native.ffi import lib
from wakeproof._runtime.jobs import threads
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.counts import CarrierCounts, PlacementStatistics
    from wakeproof.factory import ThreadFactory
    from wakeproof.group import CarrierGroup
    from wakeproof.poller import Poller
    from wakeproof.vthread import VirtualThread

P = ParamSpec("P")
T = TypeVar("T")


def checked(name: str | None) -> str | None:
    """Return a name for tasks.

    Raises:
        UsageError: it is no text, or holds a NUL.
    """
    if name is None or (isinstance(name, str) and "\0" not in name):
        return name
    raise UsageError(f"name is {name!r}; allowed: a str without NUL, or None")


class Carrier:
    """One thread of a group: what is submitted here runs here, unless a sibling steals it.

    Source: ``kernel/sched/group.h``, ``carrier.h``.
    """

    def __init__(self, group: CarrierGroup, index: int) -> None:
        self._group, self._owner = weakref.proxy(group), weakref.ref(group)
        self._seats = group._seats
        self.index = index

    def __repr__(self) -> str:
        return f"<Carrier {self.name}>"

    @property
    def name(self) -> str:
        """Its full name, such as ``carrier-0-cluster0-core2``."""
        return self._seats.name(self.index)

    @property
    def cluster(self) -> int:
        """Its cluster; 0 without a topology."""
        return self._seats.clusters[self.index]

    @property
    def core(self) -> int | None:
        """Its physical core; None: it floats."""
        return self._seats.cores[self.index]

    @property
    def cpu(self) -> int | None:
        """The CPU that it is pinned to; None: it floats."""
        return self._seats.cpus[self.index]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` on this carrier; as `CarrierGroup.submit`."""
        name = getattr(fn, "__qualname__", repr(fn))
        future: Future[T] = self._group._start(self.index, lambda: fn(*args, **kwargs), name)
        return future

    def factory(self, *, name: str | None = None, pinned: bool = False) -> ThreadFactory:
        """Return what makes virtual threads of this carrier (`ThreadFactory`).

        Args:
            name: of its threads; None: each has one of its own, as `VirtualThread` gives.
            pinned: no sibling steals its threads.

        Raises:
            UsageError: `name` is no str, or holds a NUL.
        """
        from wakeproof.factory import ThreadFactory  # which needs this module

        return ThreadFactory(self, name=name, pinned=pinned)

    def register_poller(
        self,
        wakeup: Callable[[], object],
        body: Callable[[Poller], T],
        *,
        name: str | None = None,
        blocks: bool = False,
    ) -> VirtualThread:
        """Start the poller of this carrier, which has one at the most (`wakeproof.poller`).

        Its `join` and `result` wait until the carrier has none again; the result is the body's,
        also if it failed.  A close of the group waits for all others first, and then ends it.

        Args:
            wakeup: ends its system call, also one that is about to begin: write to an eventfd or a
                socket.  Any thread calls it, without arguments, when it has found the carrier
                asleep in its poller; it must not park.  What it raises ``sys.unraisablehook`` is
                told, and it is called once more.
            body: runs as a virtual thread of this carrier, with a `Poller`.
            name: default: "poller-" and the number of the carrier.
            blocks: it blocks in the system without `try_park`: meanwhile nothing else runs here.
                It must come back by itself for a close to end.

        Raises:
            StateError: there is one, of `wakeproof.io` perhaps; or it blocks, and no other carrier
                of the group would be free of such.
            ClosedError: the group is closed, or being closed.
            UsageError: `wakeup` or `body` cannot be called, or `name` is no name.
            ForkedError: the group is of the parent of this process.
        """
        from wakeproof._runtime.poller import register  # which needs this module

        return register(self, wakeup, body, name, blocks)

    @property
    def poller(self) -> VirtualThread | None:
        """Whom `register_poller` has started here; None: nobody, or it has ended."""
        self._group._check_process()
        return threads.get(lib.wp__poller_number(self._group._native, self.index))

    @property
    def counts(self) -> CarrierCounts:
        """What it has done so far."""
        self._group._check_process()
        return counts.counts(self._group._native, self.index)

    @property
    def placement(self) -> PlacementStatistics:
        """What `placement` has decided about it so far."""
        self._group._check_process()
        return counts.placement(self._group._native, self.index)

    @property
    def runnable_count(self) -> int:
        """How many tasks are queued here now, about."""
        return self.counts.runnable
