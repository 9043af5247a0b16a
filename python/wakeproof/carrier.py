# SPDX-License-Identifier: Apache-2.0
"""Carriers: the threads of a group.

Spec: ``specs/Carrier.tla``, ``Group.tla``.  Source: ``kernel/carrier.h``, ``worker.h``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from wakeproof import counts
from wakeproof.errors import UsageError

if TYPE_CHECKING:
    from wakeproof.counts import CarrierCounts
    from wakeproof.group import CarrierGroup

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


class Submit(Protocol):
    """What `factory` returns; keywords are the callable's, as in `CarrierGroup.submit`."""

    def __call__(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``fn(*args, **kwargs)``; result or exception come through the future."""


class Carrier:
    """One thread of a group: what is submitted here runs here, unless a sibling steals it.

    Source: ``kernel/group.h``, ``carrier.h``.
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
        return self.factory()(fn, *args, **kwargs)

    def factory(self, *, name: str | None = None, pinned: bool = False) -> Submit:
        """Return a function that submits to this carrier; arguments as `CarrierGroup.factory`."""
        checked(name)

        def submit(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
            of = name or getattr(fn, "__qualname__", repr(fn))
            future: Future[T] = self._group._start(
                self.index, lambda: fn(*args, **kwargs), of, pinned
            )
            return future

        return submit

    @property
    def counts(self) -> CarrierCounts:
        """What it has done so far."""
        self._group._check_process()
        return counts.counts(self._group._native, self.index)

    @property
    def runnable_count(self) -> int:
        """How many tasks are queued here now, about."""
        return self.counts.runnable
