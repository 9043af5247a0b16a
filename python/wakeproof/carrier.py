# SPDX-License-Identifier: Apache-2.0
"""Carriers are the OS threads of a group.

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
        UsageError: `name` is not a str, or contains a NUL.
    """
    if name is None or (isinstance(name, str) and "\0" not in name):
        return name
    raise UsageError(f"name is {name!r}; allowed: a str without NUL, or None")


class Carrier:
    """One OS thread of a group, with a run queue of its own.

    What is submitted to a carrier runs there, unless an idle sibling steals it.  Index or iterate a
    `CarrierGroup` to get its carriers; they are not made directly.

    Attributes:
        index: the position of this carrier in its group, from 0.

    Threads: any thread may call all methods and read all properties.
    Source: ``kernel/sched/group.h``, ``carrier.h``.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(2) as group:
        ...     carrier = group[1]
        ...     carrier.name, carrier.submit(group.running).result() is carrier
        ('carrier-1', True)
    """

    def __init__(self, group: CarrierGroup, index: int) -> None:
        self._group, self._owner = weakref.proxy(group), weakref.ref(group)
        self._seats = group._seats
        self.index = index

    def __repr__(self) -> str:
        return f"<Carrier {self.name}>"

    @property
    def name(self) -> str:
        """The full name of this carrier, such as ``carrier-0-cluster0-core2``."""
        return self._seats.name(self.index)

    @property
    def cluster(self) -> int:
        """The number of its cluster; 0 in a group without a topology."""
        return self._seats.clusters[self.index]

    @property
    def core(self) -> int | None:
        """The number of its physical core, or None if the carrier floats between cores."""
        return self._seats.cores[self.index]

    @property
    def cpu(self) -> int | None:
        """The number of the CPU that it is pinned to, or None if the carrier floats."""
        return self._seats.cpus[self.index]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` on this carrier and return its future.

        Errors are those of `CarrierGroup.submit`.
        """
        name = getattr(fn, "__qualname__", repr(fn))
        future: Future[T] = self._group._start(self.index, lambda: fn(*args, **kwargs), name)
        return future

    def factory(self, *, name: str | None = None, pinned: bool = False) -> ThreadFactory:
        """Return a `ThreadFactory` that starts virtual threads on this carrier.

        Args:
            name: the name of every thread that it makes; default None: each thread gets a name of
                its own, as `VirtualThread` gives one.
            pinned: whether siblings may not steal its threads; default False.

        Raises:
            UsageError: `name` is not a str, or contains a NUL.
        """
        from wakeproof.factory import ThreadFactory  # imported late: it imports this module

        return ThreadFactory(self, name=name, pinned=pinned)

    def register_poller(
        self,
        wakeup: Callable[[], object],
        body: Callable[[Poller], T],
        *,
        name: str | None = None,
        blocks: bool = False,
    ) -> VirtualThread:
        """Start the poller of this carrier, of which it has at most one (see `wakeproof.poller`).

        Returns the poller's virtual thread.  Its `join` and `result` wait until the carrier has no
        poller again; the result is what the body returned or raised.  A close of the group first
        waits for all other threads, and then ends the poller.

        Args:
            wakeup: ends the poller's system call, also one that is about to begin, for example by a
                write to an eventfd or a socket.  Any thread calls it, without arguments, when that
                thread has found the carrier asleep in its poller.  It must not park.  An exception
                that it raises goes to ``sys.unraisablehook``, and the wakeup is called once more.
            body: a callable that runs as a virtual thread of this carrier and is given a `Poller`.
            name: the name of the thread; default: "poller-" and the index of the carrier.
            blocks: whether the body blocks in the system without `try_park`; default False.
                Nothing else runs on this carrier meanwhile, and the body must return from the
                system call by itself for a close to end.

        Raises:
            StateError: the carrier has a poller already, perhaps the one of `wakeproof.io`; or
                `blocks` is true, and no other carrier of the group would be left without such a
                poller.
            ClosedError: the group is closed, or being closed.
            UsageError: `wakeup` or `body` cannot be called, or `name` is not a str without NUL.
            ForkedError: the group belongs to the parent of this process.
        """
        from wakeproof._runtime.poller import register  # imported late: it imports this module

        return register(self, wakeup, body, name, blocks)

    @property
    def poller(self) -> VirtualThread | None:
        """The poller that `register_poller` started here; None if there is none now."""
        self._group._check_process()
        return threads.get(lib.wp__poller_number(self._group._native, self.index))

    @property
    def counts(self) -> CarrierCounts:
        """What this carrier has done so far, as `CarrierCounts`."""
        self._group._check_process()
        return counts.counts(self._group._native, self.index)

    @property
    def placement(self) -> PlacementStatistics:
        """What the placement policy has decided about this carrier, as `PlacementStatistics`."""
        self._group._check_process()
        return counts.placement(self._group._native, self.index)

    @property
    def runnable_count(self) -> int:
        """The approximate number of tasks that are queued on this carrier now."""
        return self.counts.runnable
