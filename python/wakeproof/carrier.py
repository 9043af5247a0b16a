# SPDX-License-Identifier: Apache-2.0
"""Carriers are the OS threads of a group.

Spec: ``specs/sched/Carrier.tla``, ``Group.tla``.  Source: ``kernel/sched/carrier.h``, ``worker.h``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from wakeproof import counts
from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime.future import Future as _Future
from wakeproof._runtime.jobs import submit, threads
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.counts import CarrierCounts, PlacementStatistics
    from wakeproof.factory import ThreadFactory
    from wakeproof.group import CarrierGroup
    from wakeproof.poller import Poller
    from wakeproof.scheduler import NativeScheduler, Scheduler
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
    """One OS thread of a `CarrierGroup`, with a run queue of its own.

    A carrier runs the tasks and virtual threads that are submitted to it, unless the group steals
    work and an idle *sibling*, another carrier of the group, takes them first.  Index or iterate a
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
        # Each carrier's own, so that threads that submit to different ones share no object here.
        self._native, self._pid = ffi.cast("wp_group *", group._native), group._pid
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
        """The number of its cluster, the CPUs that share a last-level cache; 0 without topology."""
        return self._seats.clusters[self.index]

    @property
    def core(self) -> int | None:
        """The number of its physical core, or None if the carrier is not pinned to a CPU."""
        return self._seats.cores[self.index]

    @property
    def cpu(self) -> int | None:
        """The number of the CPU to which the carrier is pinned, or None if it is not pinned."""
        return self._seats.cpus[self.index]

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` on this carrier and return its future.

        Errors are those of `CarrierGroup.submit`.
        """
        name = getattr(fn, "__qualname__", None) or repr(fn)
        return submit(self, lambda: fn(*args, **kwargs), name, _Future())

    def factory(
        self,
        *,
        name: str | None = None,
        pinned: bool = False,
        scheduler: Scheduler | NativeScheduler | None = None,
        thread_locals: bool = True,
    ) -> ThreadFactory:
        """Return a `ThreadFactory` that starts virtual threads on this carrier.

        Args:
            name: the name of every thread that it makes; default None: each thread gets a name of
                its own, as `VirtualThread` gives one.
            pinned: True: the threads stay on this carrier.  False (default): with work stealing, a
                sibling may take a thread.
            scheduler: as of `ThreadFactory`.
            thread_locals: as of `ThreadFactory`.

        Raises:
            UsageError, UnsupportedError: as `ThreadFactory`.
        """
        from wakeproof.factory import ThreadFactory  # imported late: it imports this module

        return ThreadFactory(
            self, name=name, pinned=pinned, scheduler=scheduler, thread_locals=thread_locals
        )

    def register_poller(
        self,
        wakeup: Callable[[], object],
        body: Callable[[Poller], T],
        *,
        name: str | None = None,
        blocks: bool = False,
    ) -> VirtualThread:
        """Start a poller on this carrier, which may have one at a time.

        A *poller* (`wakeproof.poller`) is a virtual thread that collects events, and blocks in a
        system call when its carrier has nothing else to run.  This method returns that virtual
        thread.  `join` and `result` of the thread wait until the poller has ended; the result is
        what the body returned or raised.  A close of the group first waits for all other threads,
        and then ends the poller.

        Args:
            wakeup: a callable without arguments that ends the poller's system call, also one that
                is about to begin; for example, it writes to an eventfd or a socket.  Any thread
                that brings work for this carrier may call it, while the carrier sleeps in its
                poller.  It must not park.  An exception that it raises goes to
                ``sys.unraisablehook``, and the wakeup is called once more.
            body: a callable that runs as a virtual thread of this carrier and is given a `Poller`.
            name: the name of the thread; default: "poller-" and the index of the carrier.
            blocks: whether the body blocks in the system without `Poller.try_park`; default False.
                If it does, nothing else runs on this carrier meanwhile, and a close of the group
                ends only when the system call has returned by itself.

        Raises:
            StateError: the carrier has a poller already, perhaps that of `wakeproof.io`; or
                `blocks` is true, and every other carrier of the group has such a poller already.
            ClosedError: the group is closed, or being closed.
            UsageError: `wakeup` or `body` cannot be called, or `name` is not a str without NUL.
            ForkedError: the group belongs to the parent of this process.
        """
        from wakeproof._runtime.poller import register  # imported late: it imports this module

        return register(self, wakeup, body, name, blocks)

    @property
    def poller(self) -> VirtualThread | None:
        """The poller that `register_poller` has started on this carrier; None if there is none."""
        self._group._check_process()
        return threads.get(lib.wp__poller_number(self._group._native, self.index))

    @property
    def counts(self) -> CarrierCounts:
        """What this carrier has done so far, as `CarrierCounts`."""
        self._group._check_process()
        return replace(
            counts.counts(self._group._native, self.index),
            long_steps=self._group._long_steps[self.index],
        )

    @property
    def placement(self) -> PlacementStatistics:
        """What the placement policy has decided about this carrier, as `PlacementStatistics`."""
        self._group._check_process()
        return counts.placement(self._group._native, self.index)

    @property
    def runnable_count(self) -> int:
        """The approximate number of tasks that are queued on this carrier now."""
        return self.counts.runnable
