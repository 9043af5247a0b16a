# SPDX-License-Identifier: Apache-2.0
"""Factories of virtual threads for one carrier or one group.

Spec: ``specs/thread/VThread.tla``.  Source: this file, ``vthread.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from wakeproof._runtime.here import ARE_OWN
from wakeproof._runtime.types import P, T
from wakeproof.carrier import checked
from wakeproof.errors import UnsupportedError, UsageError
from wakeproof.scheduler import NativeScheduler
from wakeproof.vthread import VirtualThread

if TYPE_CHECKING:
    from wakeproof.carrier import Carrier
    from wakeproof.group import CarrierGroup
    from wakeproof.scheduler import Scheduler


class _Special(VirtualThread[T]):
    """A virtual thread that is not as `VirtualThread` makes it.

    Attributes:
        _is_pinned: it is never stolen, not even before it begins.
        _has_no_locals: it may have no values in ``threading.local``.
        _scheduler: who runs it in place of its carrier.
        _runner: the OS thread on which its callable has begun, if there is a scheduler.
    """

    __slots__ = ("_has_no_locals", "_is_pinned", "_runner", "_scheduler")

    def __init__(
        self, made_by: ThreadFactory, fn: Callable[..., Any], /, *args: Any, **named: Any
    ) -> None:
        self._is_pinned, self._has_no_locals = made_by._is_pinned, not made_by._thread_locals
        self._scheduler = made_by._scheduler
        super().__init__(fn, *args, **named)


class ThreadFactory:
    """A factory of virtual threads: a call starts one, `unstarted` only makes one.

    `Carrier.factory` and `CarrierGroup.factory` make factories, and `Scope` takes one.  All keyword
    arguments of a call are passed to the callable.

    Args:
        of: the `CarrierGroup`, or the `Carrier` of one, that runs the threads.
        name: the name of every thread; default None: each thread gets a name of its own.
        pinned: True: the threads stay on the carrier that queues them.  False (default): with work
            stealing, another carrier of the group may take a thread.
        scheduler: a `Scheduler`, or a `NativeScheduler` in C, that says when and where the threads
            run; default None: the carriers run them in turn.
        thread_locals: False: a thread that sets a value in a ``threading.local`` gets a StateError
            there, so that many threads cannot have many such values.  Default True.

    Threads: any thread may call all methods.

    Raises:
        UsageError: `name` is not a str or contains a NUL, or `scheduler` has no `submit`.
        UnsupportedError: `thread_locals` is False, and this Python shares such values between all
            virtual threads of a carrier.

    Example:
        >>> from wakeproof import CarrierGroup
        >>> with CarrierGroup(1) as group:
        ...     start = group.factory(name="adder")
        ...     thread = start(sum, [1, 2])
        ...     thread.name, thread.result()
        ('adder', 3)
    """

    __slots__ = ("_is_pinned", "_is_special", "_name", "_of", "_scheduler", "_thread_locals")

    def __init__(
        self,
        of: CarrierGroup | Carrier,
        *,
        name: str | None = None,
        pinned: bool = False,
        scheduler: Scheduler | NativeScheduler | None = None,
        thread_locals: bool = True,
    ) -> None:
        self._of, self._name, self._is_pinned = of, checked(name), bool(pinned)
        if not (
            scheduler is None
            or isinstance(scheduler, NativeScheduler)
            or callable(getattr(scheduler, "submit", None))
        ):
            raise UsageError(
                f"scheduler is {scheduler!r}; allowed: an object with submit(thread), a "
                "NativeScheduler, or None"
            )
        if not thread_locals and not ARE_OWN:
            raise UnsupportedError(
                "thread_locals is False, but this Python shares the values of threading.local "
                "between the virtual threads of a carrier: it needs CPython 3.11 to 3.14 and a "
                "build of wakeproof with Python.h"
            )
        self._scheduler, self._thread_locals = scheduler, bool(thread_locals)
        self._is_special = pinned or scheduler is not None or not thread_locals

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
        make = partial(_Special, self) if self._is_special else VirtualThread
        thread = make(fn, *args, name=self._name, group=self._of)
        if kwargs:  # not passed to VirtualThread, which has keywords `name` and `group`
            thread._call = partial(thread._call, **kwargs)
        return thread
