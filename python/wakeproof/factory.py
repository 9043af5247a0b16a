# SPDX-License-Identifier: Apache-2.0
"""Factories of virtual threads for one carrier or one group.

Spec: ``specs/thread/VThread.tla``.  Source: this file, ``vthread.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from wakeproof._runtime.types import P, T
from wakeproof.carrier import checked
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup


class _Pinned(VirtualThread[T]):
    """A virtual thread that is never stolen, not even before it begins."""

    __slots__ = ()
    _is_pinned = True


class ThreadFactory:
    """A factory of virtual threads: a call starts one, `unstarted` only makes one.

    `Carrier.factory` and `CarrierGroup.factory` make factories, and `Scope` takes one.  All keyword
    arguments of a call are passed to the callable.

    Args:
        of: the `CarrierGroup`, or the `Carrier` of one, that runs the threads.
        name: the name of every thread; default None: each thread gets a name of its own.
        pinned: True: the threads stay on the carrier that queues them.  False (default): with work
            stealing, another carrier of the group may take a thread.

    Threads: any thread may call all methods.

    Raises:
        UsageError: `name` is not a str, or contains a NUL.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(1) as group:
        ...     start = group.factory(name="adder")
        ...     thread = start(sum, [1, 2])
        ...     thread.name, thread.result()
        ('adder', 3)
    """

    __slots__ = ("_is_pinned", "_name", "_of")

    def __init__(
        self, of: CarrierGroup | Carrier, *, name: str | None = None, pinned: bool = False
    ) -> None:
        self._of, self._name, self._is_pinned = of, checked(name), bool(pinned)

    @overload
    def __call__(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    @overload
    def __call__(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    def __call__(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> VirtualThread[Any]:
        """Start a virtual thread that runs ``fn(*args, **kwargs)``, and return the thread.

        Raises:
            ClosedError: the group is closed, or being closed.
            UsageError, ForkedError: as `VirtualThread`.
        """
        return self.unstarted(fn, *args, **kwargs).start()

    @overload
    def unstarted(
        self, fn: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    @overload
    def unstarted(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> VirtualThread[T]: ...
    def unstarted(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> VirtualThread[Any]:
        """Make a virtual thread that the caller starts later."""
        kind = _Pinned if self._is_pinned else VirtualThread
        thread = kind(fn, *args, name=self._name, group=self._of)
        if kwargs:  # not passed to VirtualThread, which has keywords `name` and `group`
            thread._call = partial(thread._call, **kwargs)
        return thread
