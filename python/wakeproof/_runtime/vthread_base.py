# SPDX-License-Identifier: Apache-2.0
"""The base of a virtual thread: the kernel's handle, and what the close of a group does to it.

Spec: ``VThread.tla``.  Source: ``_native/vthreads.c``, ``kernel/sched/vthread_start.h``.
"""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from wakeproof._native.ffi import ffi, lib
from wakeproof._runtime import trampoline
from wakeproof._runtime.core import Core
from wakeproof._runtime.noncopyable import Unique
from wakeproof._runtime.trampoline import here
from wakeproof.carrier import Carrier
from wakeproof.default import default_group
from wakeproof.errors import ClosedError, UsageError
from wakeproof.group import CarrierGroup
from wakeproof.scheduler import NativeScheduler

if TYPE_CHECKING:
    from wakeproof._native.ffi import CVThread, Null
    from wakeproof._runtime.admission import Permitted
    from wakeproof._runtime.signal import Signal
    from wakeproof._runtime.wait import Wait
    from wakeproof.mutex import Mutex
    from wakeproof.scheduler import Scheduler

T = TypeVar("T")
State = Literal["new", "queued", "running", "parked", "pinned", "terminated", "closed"]
_STATES: dict[int | None, State] = {0: "parked", 1: "queued", 3: "closed", 9: "pinned"}


def is_coroutine(fn: Callable[..., object]) -> bool:
    code = getattr(fn, "__code__", None)
    if code is None:
        return inspect.iscoroutinefunction(fn)
    return bool(code.co_flags & inspect.CO_COROUTINE)


def check_callable(fn: object) -> None:
    """Raise UsageError, unless `fn` can be called."""
    if not callable(fn):
        raise UsageError(f"fn is {fn!r}; allowed: a callable")


def nothing() -> None:
    """Stand in for the callable of a thread that has ended."""


def _place(group: CarrierGroup | Carrier | None) -> tuple[CarrierGroup, int]:
    if isinstance(group, Carrier):
        owner = group._owner()
        if owner is None:
            raise ClosedError(f"{group!r}: its group is gone; keep a reference to the group")
        return owner, group.index
    if group is None:
        group = here.thread._group if here.thread else default_group()
    if not isinstance(group, CarrierGroup):
        raise UsageError(f"group is {group!r}; allowed: a CarrierGroup, a Carrier, or None")
    return group, lib.WP_VTHREAD_HERE


class Handle(Unique, Core):
    """One thread of the C kernel, from creation to end; `VirtualThread` has the other methods.

    `Core` has the fields, and fills them.
    """

    __slots__ = ()
    _address: int | None  # the kernel's handle
    _call: Callable[[], Any]
    _context: contextvars.Context
    _coroutine: Coroutine[Any, None, Any] | None
    _error: BaseException | None
    _greenlet: Any
    _group: CarrierGroup | None
    _has_ended: bool
    _home: int
    _hub: Any
    _is_closed: bool
    _is_coroutine: bool
    _is_heard: bool  # a caller has received its error
    _is_started: bool
    _locals: object  # its values in threading.local, while it does not run
    _mutexes: set[Mutex] | None  # of `_held`: kept alive while it holds them: the kernel lists them
    _name: str | None
    _number: int
    _open: list[Any] | None  # of `_scopes`
    _permitted: Permitted | None  # the call of a pool that it runs
    _pins: int
    _resume: Callable[[Any], int]
    _runs: bool
    _scope: Any  # the scope that forked it
    _signal: Any  # None: nobody has asked for `_done`
    _value: Any
    _wait: Wait | Signal | None  # what it waits for, unless it is a plain park
    _is_pinned = _is_poller = _has_no_locals = False
    _scheduler: Scheduler | NativeScheduler | None = None

    @property
    def _native(self) -> CVThread | None:
        return None if self._address is None else ffi.cast("wp_vthread *", self._address)

    def _make(self, group: CarrierGroup, home: int) -> None:
        """Make the kernel's thread; with a name if events or a dump may show it.

        Raises:
            MemoryError: there is no memory.
        """
        scheduler, native = self._scheduler, ffi.NULL
        if isinstance(scheduler, NativeScheduler):
            native = ffi.cast("void *", scheduler.address)
        elif scheduler is not None:
            native = trampoline.SCHEDULER
        made = lib.wp__vthread_new(
            group._native,
            id(self),
            self._text(group),
            home,
            self._is_pinned,
            self._has_no_locals,
            native,
        )
        if not made:
            raise MemoryError(f"{self.name}: no memory")
        self._address = int(ffi.cast("uintptr_t", made))
        self._home = lib.wp__vthread_home(made)

    def _text(self, group: CarrierGroup) -> bytes | Null:
        is_named = self._name is not None or group.tracing != 0
        return self.name.encode(errors="replace") if is_named else ffi.NULL

    def __repr__(self) -> str:
        return f"<VirtualThread {self.name} {self.state}>"

    @property
    def name(self) -> str:
        """The name of the thread."""
        return self._name if self._name is not None else f"virtual-{self._number}"

    @property
    def state(self) -> State:
        """What the thread does now: "new", "queued", "running", "parked", "pinned" or "terminated".

        "pinned": it waits, and blocks its carrier.  "closed": its group was closed before the
        thread had ended.
        """
        if self._has_ended:
            return "closed" if self._is_closed else "terminated"
        if not self._is_started:
            return "new"
        state = self._tell(lib.wp__vthread_state)
        return "running" if self._runs and state == 1 else _STATES.get(state, "terminated")

    def _check_process(self) -> None:
        group = self._group
        if group is not None:
            group._check_process()

    def _tell(self, what: Callable[..., T], *args: int) -> T | None:
        """Call the kernel, with the group kept alive, unless the thread was closed."""
        group, native = self._group, self._native
        return None if group is None or native is None else what(native, *args)

    def _told(self) -> Literal["parked", "queued", "running"]:
        state = self.state
        return state if state in ("parked", "queued") else "running"

    def _abandon_held(self) -> None:
        """Unlock the mutexes of the thread and mark them as abandoned, unless a close has."""
        if self._native is not None:
            lib.wp__vthread_abandon_held(self._native)
        for mutex in self._held:
            if mutex._holder is self:
                mutex._holder = None
        self._held = set()

    def _hand_back(self) -> None:
        """End the thread because its group was closed before it had ended.

        The objects on the stack of its greenlet stay in memory for ever, because the OS thread of
        that stack has ended.  They do not keep the group alive.
        """
        self._is_closed = True
        if self._wait is not None:
            self._wait.abandon()
        trampoline.forget(self)
        self._address = self._group = None
