# SPDX-License-Identifier: Apache-2.0
"""Virtual threads: callables and coroutine functions that park without blocking their carrier.

A carrier is blocked, with all that is queued there, by what blocks an OS thread: ``time.sleep``,
``threading`` locks and events, ``Future.result``, plain sockets and files, a long computation.
wakeproof sees none of these.  It sees, and counts as pinned (``Carrier.counts.pinned``), parks in a
`pinned` section, and parks of a coroutine that are not awaited (`wakeproof.coroutine` has those).

Spec: ``specs/VThread.tla``.  Source: ``kernel/vthreads.h``.
"""

from __future__ import annotations

import contextvars
import inspect
import os
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from wakeproof import _mount
from wakeproof._ffi import ffi, lib
from wakeproof._jobs import numbers, threads
from wakeproof._mount import here
from wakeproof._signal import Signal
from wakeproof.carrier import Carrier, checked
from wakeproof.default import default_group
from wakeproof.errors import (
    ClosedError,
    DeadlineError,
    StateError,
    UsageError,
    WrongThreadError,
)
from wakeproof.group import CarrierGroup

if TYPE_CHECKING:
    from wakeproof._ffi import CVThread

State = Literal["new", "queued", "running", "parked", "pinned", "terminated", "closed"]
_STATES: dict[int, State] = {0: "parked", 1: "queued", 3: "closed", 9: "pinned"}


def _is_coroutine(fn: Callable[..., object]) -> bool:
    code = getattr(fn, "__code__", None)
    if code is None:
        return inspect.iscoroutinefunction(fn)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def _nothing() -> None:
    """Stand in for the callable of a thread that has ended."""


class VirtualThread:
    """A thread of a group: it parks, and its carrier runs others meanwhile.

    ``VirtualThread(fn, *args).start().result()``.  Its `contextvars` are the starter's, copied.  A
    callable stays on its home carrier; a coroutine function's steps run on any that may steal.

    Args:
        fn: what it runs; other positional and keyword arguments are passed to it.
        name: in tracebacks, events and what a close returns; default: "virtual-" and a number.
        group: or one of its carriers, as home; default: the group of the calling virtual thread,
            else `default_group`.

    Threads: `start` belongs to who made it; all else may be called from any thread.
    A thread that was parked when its group was closed never goes on, not even to clean up.
    Spec: ``specs/VThread.tla``.  Source: ``kernel/vthreads.h``.

    Raises:
        UsageError: `fn` cannot be called, or `name` is no str, or holds a NUL.
        ForkedError: the group is of the parent of this process.
    """

    __slots__ = (
        "__weakref__", "_call", "_context", "_coroutine", "_done", "_error", "_greenlet", "_group",
        "_hub", "_is_closed", "_is_coroutine", "_is_started", "_name", "_native", "_number",
        "_pins", "_resume", "_scopes", "_value",
    )  # fmt: skip
    is_virtual = True
    _context: contextvars.Context
    _greenlet: Any
    _hub: Any

    def __init__(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        group: CarrierGroup | Carrier | None = None,
        **kwargs: Any,
    ) -> None:
        self._native: CVThread | None = None
        if not callable(fn):
            raise UsageError(f"fn is {fn!r}; allowed: what can be called")
        self._name = checked(name)
        self._group, home = _place(group)
        self._group._check_process()
        self._number = next(numbers)
        self._is_coroutine = _is_coroutine(fn)
        self._call: Callable[[], Any] = partial(fn, *args, **kwargs) if args or kwargs else fn
        first = _mount.first_of_coroutine if self._is_coroutine else _mount.first_of_call
        self._resume: Callable[[VirtualThread], int] = first
        self._coroutine: Coroutine[Any, None, Any] | None = None
        self._done = Signal()
        self._is_started = self._is_closed = False
        self._pins = 0
        self._value: Any = None
        self._error: BaseException | None = None
        self._scopes: list[object] = []
        is_named = name is not None or self._group._trace_events != 0
        text = self.name.encode(errors="replace") if is_named else ffi.NULL
        made = lib.wp__vthread_new(
            self._group._native, self._number, text, home, not self._is_coroutine
        )
        if not made:
            raise MemoryError(f"{self.name}: no memory")
        self._native = made

    def __del__(self) -> None:
        if self._native and self._group._life[0] and self._group._pid == os.getpid():
            lib.wp_vthread_free(self._native)

    def __repr__(self) -> str:
        return f"<VirtualThread {self.name} {self.state}>"

    @property
    def name(self) -> str:
        """Its name."""
        return self._name if self._name is not None else f"virtual-{self._number}"

    @property
    def home(self) -> Carrier:
        """The carrier that it starts on; a callable stays there."""
        return self._group[lib.wp__vthread_home(self._native)]

    @property
    def state(self) -> State:
        """What it does now; "closed": its group was closed before it had ended."""
        if self._done.is_set:
            return "closed" if self._is_closed else "terminated"
        if not self._is_started:
            return "new"
        if here.thread is self:
            return "running"
        return _STATES.get(lib.wp__vthread_state(self._native), "terminated")

    def is_alive(self) -> bool:
        """Whether it was started and has not ended."""
        return self._is_started and not self._done.is_set

    def start(self) -> VirtualThread:
        """Have it run; returns itself.

        Raises:
            StateError: it was started before.
            ClosedError: the group is closed, or being closed.
        """
        return self._start(contextvars.copy_context())

    def _start(self, context: contextvars.Context) -> VirtualThread:
        self._group._check_process()
        if self._is_started:
            raise StateError(f"start {self.name}: it was started before")
        self._context, self._is_started = context, True
        threads[self._number] = self
        if lib.wp_vthread_start(self._native) != lib.WP_OK:
            del threads[self._number]
            self._is_started = False
            raise ClosedError(f"start {self.name}: the group is closed")
        return self

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait until it has ended, at most `timeout_s` seconds; False: the time ran out.

        Raises:
            UsageError: `timeout_s` is negative or not a number.
            StateError: it was not started.
            WrongThreadError: it is the caller.
            ClosedError: its group was closed before it had ended.
            ThreadInterruptedError: the caller is a virtual thread, and was interrupted.
        """
        self._check_join()
        return self._joined(self._done.wait(timeout_s))

    def _check_join(self) -> None:
        self._group._check_process()
        if not self._is_started:
            raise StateError(f"join {self.name}: it was not started")
        if here.thread is self:
            raise WrongThreadError(f"join {self.name}: it would wait for itself")

    def _joined(self, is_done: bool) -> bool:
        if self._is_closed:
            raise ClosedError(f"join {self.name}: its group was closed before it had ended")
        return is_done

    def result(self, timeout_s: float | None = None) -> Any:
        """Return what it returned, or raise what it raised, as soon as it has ended.

        Raises:
            DeadlineError: the time ran out (a TimeoutError as well).
            ClosedError, StateError, UsageError, ThreadInterruptedError: as `join`.
        """
        if not self.join(timeout_s):
            raise DeadlineError(f"result of {self.name}: not within {timeout_s} s")
        if self._error is not None:
            raise self._error
        return self._value

    def unpark(self) -> None:
        """Give its one permit: its park returns, or its next one does at once."""
        self._group._check_process()
        lib.wp_vthread_unpark(self._native)

    def interrupt(self) -> None:
        """Set its flag: its wait raises ThreadInterruptedError, or its next one does."""
        self._group._check_process()
        lib.wp_vthread_interrupt(self._native)

    def _told(self) -> Literal["parked", "queued", "running"]:
        state = self.state
        return state if state in ("parked", "queued") else "running"

    def _let_go(self) -> None:
        """Drop what it ran with: it runs no more."""
        self._call, self._coroutine, self._greenlet, self._hub = _nothing, None, None, None
        self._context = _EMPTY

    def _hand_back(self) -> None:
        """Its group was closed before it had ended."""
        self._is_closed = True
        _mount.forget(self)


_EMPTY = contextvars.Context()


def _place(group: CarrierGroup | Carrier | None) -> tuple[CarrierGroup, int]:
    if isinstance(group, Carrier):
        owner = group._owner()
        if owner is None:
            raise ClosedError(f"{group!r}: its group is gone")
        return owner, group.index
    if group is None:
        group = here.thread._group if here.thread else default_group()
    if not isinstance(group, CarrierGroup):
        raise UsageError(f"group is {group!r}; allowed: a CarrierGroup, a Carrier, or None")
    return group, lib.WP_VTHREAD_HERE
